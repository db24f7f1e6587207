import type {
  AuthorizationCodeRecord,
  CodeRedemption,
  Grant,
  GrantOwner,
  GrantStore,
} from '../../core/session/grant.ts'
import { sealingKeyOf } from '../../core/seal.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { type GrantRow, grantOf, ownerOf } from '../row.ts'

type CodeStore = Pick<
  GrantStore,
  | 'addAuthorizationCode'
  | 'findAuthorizationCode'
  | 'redeemAuthorizationCode'
  | 'listUnredeemedCodes'
  | 'expireCode'
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

const codeColumns = `code_hash, grant_id AS id, user_id, user_sub, user_email, user_name, client_id, resource, scope,
  grant_created_at AS created_at, grant_expires_at AS expires_at, redirect_uri, code_challenge,
  expires_at AS code_expires_at`

const selectCode: Statement = {
  name: 'select_code',
  text: `SELECT ${codeColumns} FROM authorization_code WHERE code_hash = $1`,
}

// Matches the indexes, which only this exact expression uses.
const unredeemed = 'coalesce(holds_session_until, 0) > 0'
const codeEnd = '(c.expires_at + 0)'
const whose = { user: 'user_id COLLATE "C"', client: 'client_id COLLATE "C"' }

const listUnredeemed: Statement = {
  name: 'list_unredeemed_codes',
  text: `SELECT ${codeColumns} FROM authorization_code WHERE holds_session_until > $1
    ORDER BY holds_session_until LIMIT $2`,
}
const listUnredeemedOf = (kind: keyof typeof whose): Statement => ({
  name: `list_unredeemed_codes_of_${kind}`,
  text: `SELECT ${codeColumns} FROM authorization_code c
    WHERE ${whose[kind]} = $1 AND ${unredeemed} AND ${codeEnd} > $2
    ORDER BY ${codeEnd} LIMIT $3`,
})
const listUnredeemedBy = { user: listUnredeemedOf('user'), client: listUnredeemedOf('client') }

/** Builds a statement that expires the codes `chosen` selects, and makes their sessions due for sign-out at $1. */
function expiry(name: string, chosen: string): Statement {
  return {
    name,
    text: `WITH chosen AS MATERIALIZED (${chosen} FOR UPDATE), expired AS (
        UPDATE authorization_code SET holds_session_until = NULL
        WHERE code_hash = ANY (ARRAY(SELECT code_hash FROM chosen))
        RETURNING ${codeColumns}
      ), due AS (
        UPDATE provider_session SET sign_out_due_at = $1, sign_out_since = $1
        WHERE grant_id = ANY (ARRAY(SELECT id FROM expired))
      )
      SELECT * FROM expired ORDER BY code_expires_at`,
  }
}

const expireCode = expiry(
  'expire_code',
  'SELECT code_hash FROM authorization_code WHERE code_hash = $2 AND holds_session_until - $1 > 0',
)
const expireCodesOf = (kind: keyof typeof whose): Statement =>
  expiry(
    `expire_codes_of_${kind}`,
    `SELECT code_hash FROM authorization_code c
      WHERE ${whose[kind]} = $2 AND ${unredeemed} AND ${codeEnd} > $1
      ORDER BY ${codeEnd} LIMIT $3`,
  )
const expireCodesBy = { user: expireCodesOf('user'), client: expireCodesOf('client') }

// One of many concurrent callers gets the row: the others wait for it, see that it is redeemed, and have nothing to insert.
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
      expires_at, family_hash)
    SELECT grant_id, user_id, user_sub, user_email, user_name, client_id, resource, scope, grant_created_at,
      grant_expires_at, $7 FROM used
    RETURNING id`,
}

const selectCodeState: Statement = {
  name: 'select_code_state',
  text: `SELECT redeemed_at, coalesce(holds_session_until - $2 <= 0, true) AS expired
    FROM authorization_code WHERE code_hash = $1`,
}

/**
 * Creates the authorization codes of the Postgres store. Their sessions are stored with the others from the start. A code holds its
 * session until it is redeemed or, after it expires, purged, whichever comes first.
 */
export function createPostgresCodes(database: PostgresDatabase): CodeStore {
  /** Returns why the code could not be redeemed; undefined if it can be, although it could not a moment ago. */
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
      return row && codeOf(row)
    },
    async redeemAuthorizationCode(codeHash, tokens, now) {
      const { accessHash, scope, accessExpiresAt, refreshHash, familyHash } = tokens
      const values = [codeHash, now, accessHash, scope, accessExpiresAt, refreshHash, familyHash]
      for (let tries = 0; tries < 3; tries += 1) {
        if ((await database.write(redeemCode, values)).length === 1) return { kind: 'redeemed' }
        const refusal = await refusalOf(codeHash, now)
        if (refusal) return refusal
      }
      throw new Error('A code is free each time after it could not be redeemed.')
    },
    async listUnredeemedCodes(of, { now, limit }) {
      const owner = of && ownerOf(of)
      const rows = owner
        ? await database.read<CodeRow>(listUnredeemedBy[owner.kind], [owner.id, now, limit])
        : await database.read<CodeRow>(listUnredeemed, [now, limit])
      return rows.map(codeOf)
    },
    expireCode: async (codeHash, now) => (await database.write(expireCode, [now, codeHash])).length === 1,
  }
}

/** Expires at most `limit` redeemable codes of `of`, and returns the grants they would have become. */
export async function expirePostgresCodes(
  database: PostgresDatabase,
  of: GrantOwner,
  { now, limit }: { now: number; limit: number },
): Promise<Grant[]> {
  const { kind, id } = ownerOf(of)
  const rows = await database.write<CodeRow>(expireCodesBy[kind], [now, id, limit])
  return rows.map(grantOf)
}

interface CodeState {
  redeemed_at: number | null
  expired: boolean
}

interface CodeRow extends GrantRow {
  code_hash: string
  redirect_uri: string
  code_challenge: string
  code_expires_at: number
}

function codeOf(row: CodeRow): AuthorizationCodeRecord {
  return {
    codeHash: row.code_hash,
    grant: grantOf(row),
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    expiresAt: row.code_expires_at,
  }
}
