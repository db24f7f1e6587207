import type { DatabaseSync } from 'node:sqlite'
import type {
  FirstTokens,
  GrantStore,
  MintedTokens,
  RefreshRotation,
  RotationTerms,
  SuccessorTokens,
} from '../../core/session/grant.ts'
import { differentAddresses, isReplayable, replayEnd } from '../rules.ts'
import {
  type AccessTokenRow,
  accessTokenOf,
  grantColumns,
  grantRecordColumns,
  grantRecordOf,
  type GrantRecordRow,
  refreshTokenOf,
  type RefreshTokenRow,
  tokenUseOf,
  type TokenUseRow,
} from '../row.ts'
import type { SqliteGrants } from './grants.ts'
import type { SqlitePart } from './part.ts'
import type { SqliteWork } from './work.ts'

type TokenStore = Pick<
  GrantStore,
  | 'findAccessToken'
  | 'recordFirstUse'
  | 'removeAccessToken'
  | 'findRefreshToken'
  | 'findGrantByFamily'
  | 'rotateRefreshToken'
>

/** Access and refresh tokens of the SQLite store. */
export interface SqliteTokens extends SqlitePart<TokenStore> {
  /**
   * Stores the first `tokens` of the grant with this number, inside a write. Returns the number of the refresh token, or null
   * without one.
   */
  addFirst(grantNumber: number | bigint, tokens: FirstTokens, now: number): number | bigint | null
}

/** Creates the tokens in `database`. A refresh is the most frequent write: one lookup and three changes. */
export function createSqliteTokens(
  database: DatabaseSync,
  { read, write }: SqliteWork,
  grants: SqliteGrants,
): SqliteTokens {
  const sql = prepareStatements(database)

  function rotate(row: RefreshRow, successor: SuccessorTokens, terms: RotationTerms): void {
    const { accessHash, scope, accessExpiresAt, refreshHash, sealedTokens } = successor
    const access = sql.insertRotated.run(
      accessHash,
      row.grant_number,
      scope,
      accessExpiresAt,
      terms.isOfFamily && row.has_family === 1 ? row.number : null,
      Math.max(accessExpiresAt, replayEnd(terms)),
      terms.address ?? null,
      sealedTokens,
    )
    const added = sql.insertRefresh.run(refreshHash, row.grant_number, terms.now, access.lastInsertRowid)
    sql.useRefresh.run(added.lastInsertRowid, row.number)
  }

  /** Returns the replay for a token used at `usedAt`; undefined if that is reuse. */
  function replay(row: RefreshRow, usedAt: number, terms: RotationTerms): RefreshRotation | undefined {
    const rotation = sql.selectRotation.get(row.number) as unknown as RotationRow | undefined
    if (!rotation) return undefined
    const use = tokenUseOf(rotation, usedAt)
    if (!isReplayable(use, terms)) return undefined
    const [first = null, other = null] = differentAddresses(use, terms) ?? []
    sql.recordReplay.run(terms.now, first, other, row.grant_number)
    return {
      kind: 'replayed',
      sealedTokens: rotation.sealed_tokens,
      firstUse: { at: usedAt, address: use.address },
    }
  }

  return {
    operations: {
      findAccessToken: (accessHash, now) =>
        read(() => {
          const row = sql.selectAccess.get(accessHash, now, now)
          return row && accessTokenOf(row as unknown as AccessTokenRow)
        }),
      recordFirstUse: (accessHash, now) => write(() => void sql.useAccess.run(now, accessHash)),
      removeAccessToken: (accessHash) => write(() => void sql.removeAccess.run(accessHash)),
      findRefreshToken: (refreshHash) =>
        read(() => {
          const row = sql.selectGrant.get(refreshHash)
          return row && refreshTokenOf(row as unknown as RefreshTokenRow)
        }),
      findGrantByFamily: (familyHash) =>
        read(() => {
          const row = sql.selectFamily.get(familyHash)
          return row && grantRecordOf(row as unknown as GrantRecordRow)
        }),
      rotateRefreshToken: (refreshHash, successor, terms) =>
        write(() => {
          const row = sql.selectRefresh.get(refreshHash) as unknown as RefreshRow | undefined
          if (!row || row.ended_at !== null || row.expires_at <= terms.now) return { kind: 'ended' }
          if (row.used_at === null) {
            rotate(row, successor, terms)
            return { kind: 'rotated' }
          }
          const replayed = replay(row, row.used_at, terms)
          if (replayed) return replayed
          grants.end(row.grant_number, 'refresh_token_reuse', terms.now)
          return { kind: 'reused' }
        }),
    },
    collect: (now, limit) => collectAccessTokens(sql, grants, now, limit),
    addFirst(grantNumber, tokens, now) {
      const { accessHash, scope, accessExpiresAt, refreshHash } = tokens satisfies MintedTokens
      const access = sql.insertAccess.run(accessHash, grantNumber, scope, accessExpiresAt, accessExpiresAt)
      if (refreshHash === undefined) return null
      return sql.insertRefresh.run(refreshHash, grantNumber, now, access.lastInsertRowid).lastInsertRowid
    },
  }
}

/** Deletes expired access tokens, each with the used refresh token that brought it. */
function collectAccessTokens(
  sql: ReturnType<typeof prepareStatements>,
  grants: SqliteGrants,
  now: number,
  limit: number,
): number {
  const deleted = sql.deleteAccess.all(now, limit) as unknown as DeletedAccessRow[]
  for (const { grant_number: signed, replaces } of deleted) {
    if (replaces === null) continue
    const grantNumber = Math.abs(signed)
    const row = sql.deleteUsed.get(replaces, grantNumber)
    if (row) grants.skipRefreshToken(grantNumber, replaces, row['successor'] as number)
  }
  return deleted.length
}

function prepareStatements(database: DatabaseSync) {
  return {
    insertAccess: database.prepare(
      'INSERT INTO access_token (hash, grant_number, scope, expires_at, kept_until) VALUES (?, ?, ?, ?, ?)',
    ),
    insertRotated: database.prepare(
      `INSERT INTO access_token
         (hash, grant_number, scope, expires_at, replaces, kept_until, address, sealed_tokens)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    useAccess: database.prepare(
      'UPDATE access_token SET first_used_at = ? WHERE hash = ? AND first_used_at IS NULL',
    ),
    // No grant has a negative number. The row stays until it expires: it may hold what a replay returns.
    removeAccess: database.prepare(
      'UPDATE access_token SET grant_number = -abs(grant_number) WHERE hash = ?',
    ),
    deleteAccess: database.prepare(
      `DELETE FROM access_token WHERE number IN
         (SELECT number FROM access_token WHERE kept_until <= ? LIMIT ?)
       RETURNING grant_number, replaces`,
    ),
    insertRefresh: database.prepare(
      `INSERT INTO refresh_token (number, successor, hash, grant_number, issued_at, access_number)
       SELECT next, next, ?, ?, ?, ? FROM (SELECT coalesce(max(number), 0) + 1 AS next FROM refresh_token)`,
    ),
    // A number may be reused once its row is gone; that of a grant never is.
    deleteUsed: database.prepare(
      'DELETE FROM refresh_token WHERE number = ? AND grant_number = ? AND successor <> number RETURNING successor',
    ),
    selectAccess: database.prepare(
      `SELECT ${grantColumns}, t.scope AS token_scope, t.expires_at AS token_expires_at,
         t.first_used_at IS NULL AND t.sealed_tokens IS NOT NULL AS awaits_first_use, s.sealed AS session_sealed,
         s.issued_at AS session_issued_at, s.expires_at AS session_expires_at, s.version AS session_version
       FROM access_token t JOIN grants g ON g.number = t.grant_number
         JOIN provider_session s ON s.grant_number = g.number
       WHERE t.hash = ? AND t.expires_at > ? AND g.ended_at IS NULL AND g.expires_at > ?`,
    ),
    selectGrant: database.prepare(
      `SELECT ${grantColumns}, g.end_reason, s.issued_at AS used_at
       FROM refresh_token t JOIN grants g ON g.number = t.grant_number
         LEFT JOIN refresh_token s ON s.number = t.successor AND t.successor <> t.number
       WHERE t.hash = ?`,
    ),
    selectFamily: database.prepare(`SELECT ${grantRecordColumns} FROM grants g WHERE g.family_hash = ?`),
    selectRefresh: database.prepare(
      `SELECT t.number, t.grant_number, g.expires_at, g.ended_at, g.family_hash IS NOT NULL AS has_family,
         s.issued_at AS used_at
       FROM refresh_token t JOIN grants g ON g.number = t.grant_number
         LEFT JOIN refresh_token s ON s.number = t.successor AND t.successor <> t.number
       WHERE t.hash = ?`,
    ),
    selectRotation: database.prepare(
      `SELECT a.sealed_tokens, a.address, a.first_used_at, next.issued_at AS successor_used_at
       FROM refresh_token t JOIN refresh_token s ON s.number = t.successor
         JOIN access_token a ON a.number = s.access_number AND abs(a.grant_number) = s.grant_number
         LEFT JOIN refresh_token next ON next.number = s.successor AND s.successor <> s.number
       WHERE t.number = ?`,
    ),
    recordReplay: database.prepare(
      `UPDATE grants SET replay_count = coalesce(replay_count, 0) + 1, replayed_at = ?,
         replay_first_address = coalesce(?, replay_first_address), replay_address = coalesce(?, replay_address)
       WHERE number = ?`,
    ),
    useRefresh: database.prepare('UPDATE refresh_token SET successor = ? WHERE number = ?'),
  }
}

interface RefreshRow {
  number: number
  grant_number: number
  used_at: number | null
  expires_at: number
  ended_at: number | null
  has_family: number
}

interface RotationRow extends TokenUseRow {
  sealed_tokens: string
}

interface DeletedAccessRow {
  grant_number: number
  replaces: number | null
}
