import type { Grant, GrantOwner, GrantStore } from '../../core/session/grant.ts'
import {
  codeColumns,
  type CodeRow,
  type CodeState,
  codeValues,
  insertCode,
  insertGrant,
  refusalOf,
  selectCodeState,
  unredeemedCodesOf,
} from '../sql/codes.ts'
import { grantOf, ownerOf } from '../sql/grants.ts'
import { insertSession, releaseSessions, sessionValues } from '../sql/provider-sessions.ts'
import type { SqlDatabase } from '../sql/sql.ts'

const insertWithSession = `WITH session AS (${insertSession(18)}) ${insertCode}`

/** Builds a statement that expires the codes `chosen` selects at $2, and makes their sessions due for sign-out. */
function expiry(chosen: string): string {
  return `WITH chosen AS MATERIALIZED (${chosen} FOR UPDATE), expired AS (
      UPDATE authorization_code SET holds_session_until = NULL
      WHERE code_hash = ANY (ARRAY(SELECT code_hash FROM chosen))
      RETURNING ${codeColumns}
    ), due AS (
      ${releaseSessions('= ANY (ARRAY(SELECT id FROM expired))', '$2')}
    )
    SELECT * FROM expired ORDER BY "codeExpiresAt"`
}

const expireCode = expiry(
  'SELECT code_hash FROM authorization_code WHERE code_hash = $1 AND holds_session_until - $2 > 0',
)
const expireCodesBy = {
  user: expiry(unredeemedCodesOf('user', 'code_hash')),
  client: expiry(unredeemedCodesOf('client', 'code_hash')),
}

// One of many concurrent callers gets the row: the others wait for it, see that it is redeemed, and have nothing to insert.
const redeemCode = `WITH used AS (
    UPDATE authorization_code SET redeemed_at = $2, holds_session_until = NULL
    WHERE code_hash = $1 AND holds_session_until - $2 > 0
    RETURNING grant_id, user_id, user_sub, user_email, user_name, client_id, resource, scope, workspace_id,
      workspace_name, grant_created_at, grant_expires_at
  ), session AS (
    UPDATE provider_session SET taken_up = true WHERE grant_id = (SELECT grant_id FROM used)
  ), access AS (
    INSERT INTO access_token (hash, grant_id, scope, expires_at, kept_until) SELECT $3, grant_id, $4, $5, $5 FROM used
  ), refresh AS (
    INSERT INTO refresh_token (hash, grant_id, expires_at)
    SELECT $6::text, grant_id, grant_expires_at FROM used WHERE $6 IS NOT NULL
  )
  ${insertGrant('$7', 'used')}
  RETURNING id`

/** Creates the authorization codes of the Postgres store. */
export function createPostgresCodes(
  database: SqlDatabase,
): Pick<GrantStore, 'addAuthorizationCode' | 'redeemAuthorizationCode' | 'expireCode'> {
  return {
    addAuthorizationCode: async (code, session) =>
      void (await database.write(insertWithSession, [...codeValues(code), ...sessionValues(session)])),
    async redeemAuthorizationCode(codeHash, tokens, now) {
      const { accessHash, scope, accessExpiresAt, refreshHash, familyHash } = tokens
      const values = [codeHash, now, accessHash, scope, accessExpiresAt, refreshHash, familyHash]
      if ((await database.write(redeemCode, values)).length === 1) return { kind: 'redeemed' }
      const [state] = await database.read<CodeState>(selectCodeState, [codeHash])
      return refusalOf(state)
    },
    expireCode: async (codeHash, now) => (await database.write(expireCode, [codeHash, now])).length === 1,
  }
}

/** Expires at most `limit` redeemable codes of `of`, and returns the grants they would have become. */
export async function expirePostgresCodes(
  database: SqlDatabase,
  of: GrantOwner,
  { now, limit }: { now: number; limit: number },
): Promise<Grant[]> {
  const { kind, id } = ownerOf(of)
  const rows = await database.write<CodeRow>(expireCodesBy[kind], [id, now, limit])
  return rows.map(grantOf)
}
