import type { DatabaseSync } from 'node:sqlite'
import type { Grant, GrantEndReason, GrantStore } from '../../core/session/grant.ts'
import type { SqlitePart } from './part.ts'
import type { SqliteProviderSessions } from './provider-sessions.ts'
import type { SqliteWork } from './work.ts'

/** Grants of the SQLite store, and what other parts do with them inside their own writes. */
export interface SqliteGrants extends SqlitePart<Pick<GrantStore, 'endGrant' | 'endRefusedSession'>> {
  /** Stores the grant and returns its number. */
  add(grant: Grant, familyHash: string | undefined): number | bigint
  /** Sets the first of the grant's refresh tokens: each refers to its successor, so that all are found at its end. */
  setFirstRefreshToken(grantNumber: number | bigint, token: number | bigint | null): void
  /** Called after the used refresh token `deleted` is gone: the grant's first one is then `successor` or a later one. */
  skipRefreshToken(grantNumber: number, deleted: number, successor: number): void
  /** Ends the grant if it has not ended, and releases its provider session. */
  end(grantNumber: number, reason: GrantEndReason, now: number): void
}

/** Creates the grants in `database`. */
export function createSqliteGrants(
  database: DatabaseSync,
  { write }: SqliteWork,
  sessions: SqliteProviderSessions,
): SqliteGrants {
  const sql = prepareStatements(database)

  function end(grantNumber: number, reason: GrantEndReason, now: number): void {
    if (sql.markEnded.run(now, reason, grantNumber).changes === 1) sessions.giveUp(grantNumber, now)
  }

  /** Deletes at most `limit` refresh tokens of `grant`, oldest first, and returns how many. */
  function collectRefreshTokens(grant: TokenChain, limit: number): number {
    let deleted = 0
    let next = grant.first_refresh_token
    while (next !== null && deleted < limit) {
      const row = sql.deleteRefreshToken.get(next)
      const successor = row?.['successor'] as number | undefined
      next = successor === undefined || successor === next ? null : successor
      if (row) deleted += 1
    }
    grant.first_refresh_token = next
    return deleted
  }

  /** Deletes `grant` as far as `limit` allows, its refresh tokens before itself, and returns how many rows. */
  function collectGrant(grant: TokenChain, now: number, limit: number): number {
    const tokens = collectRefreshTokens(grant, limit)
    if (tokens === limit) {
      sql.setFirst.run(grant.first_refresh_token, grant.number)
      return tokens
    }
    sessions.giveUp(grant.number, now)
    sql.deleteGrant.run(grant.number)
    return tokens + 1
  }

  /** Deletes refresh tokens of ended grants; the grant recognizes them by their family from then on. */
  function collectEnded(limit: number): number {
    let deleted = 0
    while (deleted < limit) {
      const grant = sql.selectEnded.get() as unknown as TokenChain | undefined
      if (!grant) break
      deleted += collectRefreshTokens(grant, limit - deleted)
      sql.setFirst.run(grant.first_refresh_token, grant.number)
    }
    return deleted
  }

  return {
    operations: {
      endGrant: (grantId, reason, now) =>
        write(() => {
          const row = sql.selectNumber.get(grantId)
          if (row) end(row['number'] as number, reason, now)
        }),
      endRefusedSession: (session, reason, now) =>
        write(() => {
          const grantNumber = sessions.delete(session)
          if (grantNumber === undefined) return false
          sql.markEnded.run(now, reason, grantNumber)
          return true
        }),
    },
    collect(now, limit) {
      let deleted = collectEnded(limit)
      while (deleted < limit) {
        const grant = sql.selectExpired.get(now) as unknown as TokenChain | undefined
        if (!grant) break
        deleted += collectGrant(grant, now, limit - deleted)
      }
      return deleted
    },
    add: (grant, familyHash) => sql.insert.run(...grantValues(grant), familyHash ?? null).lastInsertRowid,
    setFirstRefreshToken: (grantNumber, token) => void sql.setFirst.run(token, grantNumber),
    skipRefreshToken: (grantNumber, deleted, successor) => void sql.skip.run(successor, grantNumber, deleted),
    end,
  }
}

function grantValues({ user, ...grant }: Grant): (string | number | null)[] {
  return [
    grant.id,
    user.id,
    user.sub,
    user.email ?? null,
    user.name ?? null,
    grant.clientId,
    grant.resource,
    grant.scope,
    grant.createdAt,
    grant.expiresAt,
  ]
}

function prepareStatements(database: DatabaseSync) {
  return {
    insert: database.prepare(
      `INSERT INTO grants
       (id, user_id, user_sub, user_email, user_name, client_id, resource, scope, created_at, expires_at, family_hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    setFirst: database.prepare('UPDATE grants SET first_refresh_token = ? WHERE number = ?'),
    skip: database.prepare(
      'UPDATE grants SET first_refresh_token = ? WHERE number = ? AND first_refresh_token <= ?',
    ),
    selectEnded: database.prepare(
      `SELECT number, first_refresh_token FROM grants
     WHERE ended_at IS NOT NULL AND first_refresh_token IS NOT NULL LIMIT 1`,
    ),
    selectNumber: database.prepare('SELECT number FROM grants WHERE id = ?'),
    markEnded: database.prepare(
      'UPDATE grants SET ended_at = ?, end_reason = ? WHERE number = ? AND ended_at IS NULL',
    ),
    selectExpired: database.prepare(
      'SELECT number, first_refresh_token FROM grants WHERE expires_at <= ? ORDER BY expires_at LIMIT 1',
    ),
    deleteRefreshToken: database.prepare('DELETE FROM refresh_token WHERE number = ? RETURNING successor'),
    deleteGrant: database.prepare('DELETE FROM grants WHERE number = ?'),
  }
}

interface TokenChain {
  number: number
  first_refresh_token: number | null
}
