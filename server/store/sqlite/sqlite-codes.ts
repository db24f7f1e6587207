import type { FirstTokens, Grant, GrantOwner, GrantStore } from '../../core/session/grant.ts'
import {
  type CodeRow,
  codeColumns,
  type CodeState,
  codeValues,
  insertCode,
  insertGrant,
  refusalOf,
  selectCodeState,
  unredeemedCodesOf,
} from '../sql/codes.ts'
import { grantOf, ownerOf } from '../sql/grants.ts'
import { insertSession, sessionValues } from '../sql/provider-sessions.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { releaseSession } from './ending.ts'
import { addFirstTokens } from './sqlite-tokens.ts'

const addSession = insertSession()

const useCode = `UPDATE authorization_code SET redeemed_at = $2, holds_session_until = NULL
  WHERE code_hash = $1 AND holds_session_until - $2 > 0 RETURNING grant_id AS "grantId"`

const addGrant = insertGrant('$2', 'authorization_code WHERE code_hash = $1')

const takeUpSession = 'UPDATE provider_session SET taken_up = true WHERE grant_id = $1'

const expire = `UPDATE authorization_code SET holds_session_until = NULL
  WHERE code_hash = $1 AND holds_session_until - $2 > 0 RETURNING ${codeColumns}`

const selectUnredeemed = {
  user: unredeemedCodesOf('user', 'code_hash AS "codeHash"'),
  client: unredeemedCodesOf('client', 'code_hash AS "codeHash"'),
}

/** Creates the authorization codes of the SQLite store. */
export function createSqliteCodes(
  database: SqliteDatabase,
): Pick<GrantStore, 'addAuthorizationCode' | 'redeemAuthorizationCode' | 'expireCode'> {
  function redeem(codeHash: string, tokens: FirstTokens, now: number): boolean {
    const code = database.all<{ grantId: string }>(useCode, [codeHash, now])[0]
    if (!code) return false
    const grantNumber = database.run(addGrant, [codeHash, tokens.familyHash])
    database.run(takeUpSession, [code.grantId])
    addFirstTokens(database, grantNumber, tokens, now)
    return true
  }

  return {
    addAuthorizationCode: (code, session) =>
      database.transaction(() => {
        database.run(addSession, sessionValues(session))
        database.run(insertCode, codeValues(code))
      }),
    redeemAuthorizationCode: (codeHash, tokens, now) =>
      database.transaction(() => {
        if (redeem(codeHash, tokens, now)) return { kind: 'redeemed' }
        return refusalOf(database.all<CodeState>(selectCodeState, [codeHash])[0])
      }),
    expireCode: (codeHash, now) =>
      database.transaction(() => expireCode(database, codeHash, now) !== undefined),
  }
}

/** Expires a redeemable code inside a write, and returns the grant it would have become. */
function expireCode(database: SqliteDatabase, codeHash: string, now: number): Grant | undefined {
  const row = database.all<CodeRow>(expire, [codeHash, now])[0]
  if (row) database.run(releaseSession, [row.id, now])
  return row && grantOf(row)
}

/** Expires at most `limit` redeemable codes of `of` inside a write, and returns the grants they would have become. */
export function expireCodesOf(
  database: SqliteDatabase,
  of: GrantOwner,
  { now, limit }: { now: number; limit: number },
): Grant[] {
  const { kind, id } = ownerOf(of)
  const rows = database.all<{ codeHash: string }>(selectUnredeemed[kind], [id, now, limit])
  return rows.flatMap(({ codeHash }) => expireCode(database, codeHash, now) ?? [])
}
