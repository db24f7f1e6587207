import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '../core/store.ts'
import { codeRetentionSeconds } from './retention.ts'
import { createSqliteClients } from './sqlite-clients.ts'
import { createSqliteGrants } from './sqlite-grants.ts'
import { createSqliteProviderSessions } from './sqlite-provider-sessions.ts'
import { createPrivateFile, makeDataFolder } from './data-folder.ts'
import { lockSqlite } from './sqlite-lock.ts'
import { migrateSqlite } from './sqlite-schema.ts'
import { createTransaction } from './sqlite-transaction.ts'

/**
 * {@link Store} in one SQLite file, for a single server process. Statements bind by position, with `?` alone: the
 * oldest supported Node misbinds numbered parameters.
 *
 * Write-ahead log with synchronous=FULL: what resolved has survived a power cut. Leases of a process that died are
 * cleared on opening, since only one process uses the file. Throws when the file cannot be opened, is in use or too new.
 */
export function openSqliteStore(path: string): Store {
  makeDataFolder(dirname(path))
  createPrivateFile(path)
  const lock = lockSqlite(path)
  let database: DatabaseSync | undefined
  const close = (): void => {
    database?.close()
    lock.release()
  }
  try {
    database = new DatabaseSync(path, { timeout: 5000 })
    return createStore(database, close)
  } catch (error) {
    close()
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`The database ${path} cannot be used: ${reason}`, { cause: error })
  }
}

function createStore(database: DatabaseSync, close: () => void): Store {
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;')
  migrateSqlite(database)
  database.exec('UPDATE provider_session SET lease_owner = NULL, lease_until = 0 WHERE lease_until > 0')
  const transaction = createTransaction(database)
  const collectors = [
    ['social_sign_in', 'id', 0],
    ['authorization_code', 'code_hash', codeRetentionSeconds],
    ['access_token', 'hash', 0],
    ['refresh_token', 'hash', 0],
  ].map(([table, key, retention]) => ({
    retention: Number(retention),
    statement: database.prepare(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE expires_at <= ? LIMIT ?)`,
    ),
  }))
  const deleteGrants = database.prepare(
    'DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE expires_at <= ? LIMIT ?) RETURNING id',
  )
  const deleteProviderSession = database.prepare('DELETE FROM provider_session WHERE grant_id = ?')

  return {
    ...createSqliteClients(database),
    ...createSqliteGrants(database, transaction),
    ...createSqliteProviderSessions(database),
    collectExpired: async (now, limit) =>
      transaction(() => {
        let deleted = 0
        for (const { statement, retention } of collectors) {
          if (deleted < limit) deleted += Number(statement.run(now - retention, limit - deleted).changes)
        }
        // Last, when none of their tokens is left. Only their sessions are touched: looking for orphans reads every row.
        const grants = deleteGrants.all(now, limit - deleted)
        for (const { id } of grants) deleteProviderSession.run(id as string)
        return deleted + grants.length
      }),
    close: async () => close(),
  }
}
