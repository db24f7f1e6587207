import type { AuthorizationCodeRecord, CodeRedemption, GrantStore } from '../../core/grant.ts'
import { sealingKeyOf } from '../../core/seal.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { type GrantRow, grantOf } from '../row.ts'

type CodeStore = Pick<
  GrantStore,
  'addAuthorizationCode' | 'findAuthorizationCode' | 'redeemAuthorizationCode'
>

const insertCode: Statement = {
  name: 'insert_code',
  text: `WITH session AS (
      INSERT INTO provider_session (grant_id, sealing_key, sealed, issued_at, expires_at, version)
      VALUES ($2, $15, $16, $17, $18, $19)
    )
    INSERT INTO authorization_code (code_hash, grant_id, user_id, user_sub, user_email, user_name, client_id,
      resource, scope, grant_created_at, grant_expires_at, redirect_uri, code_challenge, expires_at,
      holds_session_until)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14)`,
}

const selectCode: Statement = {
  name: 'select_code',
  text: `SELECT grant_id AS id, user_id, user_sub, user_email, user_name, client_id, resource, scope,
      grant_created_at AS created_at, grant_expires_at AS expires_at,
      redirect_uri, code_challenge, expires_at AS code_expires_at
    FROM authorization_code WHERE code_hash = $1`,
}

// One of many callers gets the row: the others wait for it, see that it is redeemed, and have nothing to insert.
const redeemCode: Statement = {
  name: 'redeem_code',
  text: `WITH used AS (
      UPDATE authorization_code SET redeemed_at = $2, holds_session_until = NULL
      WHERE code_hash = $1 AND holds_session_until - $2 > 0
      RETURNING grant_id, user_id, user_sub, user_email, user_name, client_id, resource, scope, grant_created_at,
        grant_expires_at
    ), session AS (
      UPDATE provider_session SET taken_up = true WHERE grant_id = (SELECT grant_id FROM used)
    ), access AS (
      INSERT INTO access_token (hash, grant_id, scope, expires_at, kept_until) SELECT $3, grant_id, $4, $5, $5 FROM used
    ), refresh AS (
      INSERT INTO refresh_token (hash, grant_id, expires_at)
      SELECT $6::text, grant_id, grant_expires_at FROM used WHERE $6 IS NOT NULL
    )
    INSERT INTO grants (id, user_id, user_sub, user_email, user_name, client_id, resource, scope, created_at,
      expires_at)
    SELECT grant_id, user_id, user_sub, user_email, user_name, client_id, resource, scope, grant_created_at,
      grant_expires_at FROM used
    RETURNING id`,
}

const selectCodeState: Statement = {
  name: 'select_code_state',
  text: `SELECT redeemed_at, coalesce(holds_session_until - $2 <= 0, true) AS expired
    FROM authorization_code WHERE code_hash = $1`,
}

/**
 * Authorization codes of the Postgres store. Their sessions are stored with the others from the beginning. A code holds
 * its session until it is redeemed or, after its end, collected, whichever comes first.
 */
export function createPostgresCodes(database: PostgresDatabase): CodeStore {
  /** Why the code could not be redeemed; undefined when it can be, which a moment ago it could not. */
  async function refusalOf(codeHash: string, now: number): Promise<CodeRedemption | undefined> {
    const [state] = await database.read<CodeState>(selectCodeState, [codeHash, now])
    if (!state) return { kind: 'unknown' }
    if (state.redeemed_at !== null) return { kind: 'used', redeemedAt: state.redeemed_at }
    return state.expired ? { kind: 'expired' } : undefined
  }

  return {
    async addAuthorizationCode({ grant, ...code }, session) {
      const { user } = grant
      await database.write(insertCode, [
        code.codeHash,
        grant.id,
        user.id,
        user.sub,
        user.email,
        user.name,
        grant.clientId,
        grant.resource,
        grant.scope,
        grant.createdAt,
        grant.expiresAt,
        code.redirectUri,
        code.codeChallenge,
        code.expiresAt,
        sealingKeyOf(session.sealed),
        session.sealed,
        session.issuedAt,
        session.expiresAt,
        session.version,
      ])
    },
    async findAuthorizationCode(codeHash) {
      const [row] = await database.read<CodeRow>(selectCode, [codeHash])
      return row && codeOf(codeHash, row)
    },
    async redeemAuthorizationCode(codeHash, tokens, now) {
      const { accessHash, scope, accessExpiresAt, refreshHash } = tokens
      const values = [codeHash, now, accessHash, scope, accessExpiresAt, refreshHash]
      for (let tries = 0; tries < 3; tries += 1) {
        if ((await database.write(redeemCode, values)).length === 1) return { kind: 'redeemed' }
        const refusal = await refusalOf(codeHash, now)
        if (refusal) return refusal
      }
      throw new Error('A code is free each time after it could not be redeemed.')
    },
  }
}

interface CodeState {
  redeemed_at: number | null
  expired: boolean
}

interface CodeRow extends GrantRow {
  redirect_uri: string
  code_challenge: string
  code_expires_at: number
}

function codeOf(codeHash: string, row: CodeRow): AuthorizationCodeRecord {
  return {
    codeHash,
    grant: grantOf(row),
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    expiresAt: row.code_expires_at,
  }
}
