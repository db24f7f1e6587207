import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type {
  AuthorizationCodeRecord,
  CodeRedemption,
  FirstTokens,
  Grant,
  GrantOwner,
  GrantStore,
  StoredProviderSession,
} from '../../core/session/grant.ts'
import { codeRetentionSeconds } from '../rules.ts'
import { joinedSessionOf, type JoinedSessionRow, ownerOf } from '../row.ts'
import type { SqliteGrants } from './grants.ts'
import { collectInTurn, deleteExpired, type SqlitePart } from './part.ts'
import type { SqliteProviderSessions, SqliteSignOuts } from './provider-sessions.ts'
import type { SqliteTokens } from './tokens.ts'
import type { SqliteWork } from './work.ts'

/** The other parts of the store that a redeemed or unused code affects. */
interface CodeParts {
  grants: SqliteGrants
  sessions: SqliteProviderSessions
  tokens: SqliteTokens
  signOuts: SqliteSignOuts
}

/** Authorization codes of the SQLite store. Other parts expire an owner's codes inside their own writes. */
export interface SqliteCodes extends SqlitePart<
  Pick<
    GrantStore,
    | 'addAuthorizationCode'
    | 'findAuthorizationCode'
    | 'redeemAuthorizationCode'
    | 'listUnredeemedCodes'
    | 'expireCode'
  >
> {
  /** Expires at most `limit` redeemable codes, and returns the grants they would have become. */
  expireOf(of: GrantOwner, now: number, limit: number): Grant[]
}

/** Creates the authorization codes in `database`. A code holds its provider session until it is redeemed or the session released. */
export function createSqliteCodes(
  database: DatabaseSync,
  { read, write }: SqliteWork,
  { grants, sessions, tokens, signOuts }: CodeParts,
): SqliteCodes {
  const sql = prepareStatements(database)

  function redeem(row: CodeRow, minted: FirstTokens, now: number): CodeRedemption {
    if (row.redeemed_at !== null) return { kind: 'used', redeemedAt: row.redeemed_at }
    const session = sessionOfCode(row)
    if (row.expires_at <= now || !session) return { kind: 'expired' }
    const grantNumber = grants.add(codeOf(row).grant, minted.familyHash)
    sessions.add(grantNumber, session)
    grants.setFirstRefreshToken(grantNumber, tokens.addFirst(grantNumber, minted, now))
    sql.use.run(now, row.code_hash)
    return { kind: 'redeemed' }
  }

  function giveUp(row: CodeRow, now: number): void {
    const session = sessionOfCode(row)
    if (session) signOuts.giveUp(session, now)
    sql.clear.run(row.code_hash)
  }

  function giveUpSessions(now: number, limit: number): number {
    const rows = sql.selectUnused.all(now, limit) as unknown as CodeRow[]
    for (const row of rows) giveUp(row, now)
    return rows.length
  }

  function unredeemedRows(of: GrantOwner | undefined, now: number, limit: number): CodeRow[] {
    const owner = of && ownerOf(of)
    const rows = owner
      ? sql.unredeemed[owner.kind].all(owner.id, now, limit)
      : sql.unredeemed.all.all(now, limit)
    return rows as unknown as CodeRow[]
  }

  return {
    operations: {
      addAuthorizationCode: (code, session) => write(() => void sql.insert.run(...codeValues(code, session))),
      findAuthorizationCode: (codeHash) =>
        read(() => {
          const row = sql.select.get(codeHash)
          return row && codeOf(row as unknown as CodeRow)
        }),
      redeemAuthorizationCode: (codeHash, minted, now) =>
        write(() => {
          const row = sql.select.get(codeHash) as unknown as CodeRow | undefined
          return row ? redeem(row, minted, now) : { kind: 'unknown' }
        }),
      listUnredeemedCodes: (of, { now, limit }) =>
        read(() => unredeemedRows(of, now, limit).map((row) => codeOf(row))),
      expireCode: (codeHash, now) =>
        write(() => {
          const row = sql.select.get(codeHash) as unknown as CodeRow | undefined
          if (!row || row.session_sealed === null || row.expires_at <= now) return false
          giveUp(row, now)
          return true
        }),
    },
    expireOf: (of, now, limit) =>
      unredeemedRows(of, now, limit).map((row) => {
        giveUp(row, now)
        return codeOf(row).grant
      }),
    collect: collectInTurn([
      giveUpSessions,
      deleteExpired(database, {
        table: 'authorization_code',
        key: 'code_hash',
        end: 'expires_at',
        retention: codeRetentionSeconds,
      }),
    ]),
  }
}

function prepareStatements(database: DatabaseSync) {
  const insert = database.prepare(
    `INSERT INTO authorization_code (code_hash, grant_json, redirect_uri, code_challenge, expires_at,
       session_sealed, session_issued_at, session_expires_at, session_version, user_id, client_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const select = database.prepare('SELECT * FROM authorization_code WHERE code_hash = ?')
  const use = database.prepare(
    'UPDATE authorization_code SET redeemed_at = ?, session_sealed = NULL WHERE code_hash = ?',
  )
  const selectUnused = database.prepare(
    'SELECT * FROM authorization_code WHERE session_sealed IS NOT NULL AND expires_at <= ? LIMIT ?',
  )
  const unredeemedOf = (condition: string): StatementSync =>
    database.prepare(
      `SELECT * FROM authorization_code WHERE ${condition} session_sealed IS NOT NULL AND expires_at > ?
       ORDER BY expires_at LIMIT ?`,
    )
  const unredeemed = {
    all: unredeemedOf(''),
    user: unredeemedOf('user_id = ? AND'),
    client: unredeemedOf('client_id = ? AND'),
  }
  const clear = database.prepare('UPDATE authorization_code SET session_sealed = NULL WHERE code_hash = ?')
  return { insert, select, use, selectUnused, unredeemed, clear }
}

interface CodeRow extends Omit<JoinedSessionRow, 'session_sealed'> {
  code_hash: string
  grant_json: string
  redirect_uri: string
  code_challenge: string
  expires_at: number
  redeemed_at: number | null
  session_sealed: string | null
}

function codeValues(code: AuthorizationCodeRecord, session: StoredProviderSession): (string | number)[] {
  return [
    code.codeHash,
    JSON.stringify(code.grant),
    code.redirectUri,
    code.codeChallenge,
    code.expiresAt,
    session.sealed,
    session.issuedAt,
    session.expiresAt,
    session.version,
    code.grant.user.id,
    code.grant.clientId,
  ]
}

function codeOf(row: CodeRow): AuthorizationCodeRecord {
  return {
    codeHash: row.code_hash,
    grant: JSON.parse(row.grant_json) as Grant,
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    expiresAt: row.expires_at,
  }
}

function sessionOfCode(row: CodeRow): StoredProviderSession | undefined {
  const { session_sealed: sealed } = row
  return sealed === null
    ? undefined
    : joinedSessionOf({ ...row, session_sealed: sealed }, codeOf(row).grant.id)
}
