import type { DatabaseSync } from 'node:sqlite'
import type { GrantEndReason, GrantStore, MintedTokens } from '../../core/grant.ts'
import { type AccessTokenRow, accessTokenOf, grantColumns, type GrantRow, grantOf } from '../row.ts'
import type { SqliteGrants } from './grants.ts'
import { deleteExpired, type SqlitePart } from './part.ts'
import type { SqliteWork } from './work.ts'

/** Access and refresh tokens of the SQLite store. */
export interface SqliteTokens extends SqlitePart<
  Pick<GrantStore, 'findAccessToken' | 'removeAccessToken' | 'findRefreshToken' | 'rotateRefreshToken'>
> {
  /**
   * Stores the first `tokens` of the grant with this number, inside a write. Answers the number of the refresh token;
   * null when there is none.
   */
  addFirst(grantNumber: number | bigint, tokens: MintedTokens, now: number): number | bigint | null
}

/** Tokens in `database`. A refresh is the busiest write: one look and three changes. */
export function createSqliteTokens(
  database: DatabaseSync,
  { read, write }: SqliteWork,
  grants: SqliteGrants,
): SqliteTokens {
  const sql = prepareStatements(database)

  function addAccess(grantNumber: number | bigint, tokens: MintedTokens): void {
    sql.insertAccess.run(tokens.accessHash, grantNumber, tokens.scope, tokens.accessExpiresAt)
  }

  return {
    operations: {
      findAccessToken: (accessHash, now) =>
        read(() => {
          const row = sql.selectAccess.get(accessHash, now, now)
          return row && accessTokenOf(row as unknown as AccessTokenRow)
        }),
      removeAccessToken: (accessHash) => write(() => void sql.deleteAccess.run(accessHash)),
      findRefreshToken: (refreshHash) =>
        read(() => {
          const row = sql.selectGrant.get(refreshHash) as unknown as RefreshGrantRow | undefined
          return (
            row && {
              grant: grantOf(row),
              endReason: row.end_reason ?? undefined,
              usedAt: row.used_at ?? undefined,
            }
          )
        }),
      rotateRefreshToken: (refreshHash, successor, { now, replaySeconds }) =>
        write(() => {
          const row = sql.selectRefresh.get(refreshHash) as unknown as RefreshRow | undefined
          if (!row || row.ended_at !== null || row.expires_at <= now) return { kind: 'ended' }
          if (row.used_at === null) {
            addAccess(row.grant_number, successor)
            const { refreshHash: hash, sealedTokens } = successor
            const added = sql.insertRefresh.run(hash, row.grant_number, now, sealedTokens)
            sql.useRefresh.run(added.lastInsertRowid, row.number)
            return { kind: 'rotated' }
          }
          if (now - row.used_at <= replaySeconds && row.sealed_tokens !== null) {
            return { kind: 'replayed', sealedTokens: row.sealed_tokens }
          }
          grants.end(row.grant_number, 'refresh_token_reuse', now)
          return { kind: 'reused' }
        }),
    },
    collect: deleteExpired(database, { table: 'access_token', key: 'number', end: 'expires_at' }),
    addFirst(grantNumber, tokens, now) {
      addAccess(grantNumber, tokens)
      if (tokens.refreshHash === undefined) return null
      return sql.insertRefresh.run(tokens.refreshHash, grantNumber, now, null).lastInsertRowid
    },
  }
}

function prepareStatements(database: DatabaseSync) {
  return {
    insertAccess: database.prepare(
      'INSERT INTO access_token (hash, grant_number, scope, expires_at) VALUES (?, ?, ?, ?)',
    ),
    deleteAccess: database.prepare('DELETE FROM access_token WHERE hash = ?'),
    insertRefresh: database.prepare(
      `INSERT INTO refresh_token (number, successor, hash, grant_number, issued_at, sealed_tokens)
       SELECT next, next, ?, ?, ?, ? FROM (SELECT coalesce(max(number), 0) + 1 AS next FROM refresh_token)`,
    ),
    selectAccess: database.prepare(
      `SELECT ${grantColumns}, t.scope AS token_scope, t.expires_at AS token_expires_at, s.sealed AS session_sealed,
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
    selectRefresh: database.prepare(
      `SELECT t.number, t.grant_number, g.expires_at, g.ended_at, s.issued_at AS used_at, s.sealed_tokens
       FROM refresh_token t JOIN grants g ON g.number = t.grant_number
         LEFT JOIN refresh_token s ON s.number = t.successor AND t.successor <> t.number
       WHERE t.hash = ?`,
    ),
    useRefresh: database.prepare('UPDATE refresh_token SET successor = ? WHERE number = ?'),
  }
}

interface RefreshGrantRow extends GrantRow {
  end_reason: GrantEndReason | null
  used_at: number | null
}

interface RefreshRow {
  number: number
  grant_number: number
  used_at: number | null
  sealed_tokens: string | null
  expires_at: number
  ended_at: number | null
}
