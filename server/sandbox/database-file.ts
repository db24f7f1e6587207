import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/**
 * Opens the SQLite database at `path`, or `:memory:`, and migrates it: `migrations` has one entry per schema version; append only.
 * Only its owner can read it. Committed data survives a kill of the process.
 */
export function openDatabaseFile(path: string, migrations: readonly string[]): DatabaseSync {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, 'a', 0o600))
  }
  const database = new DatabaseSync(path)
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
  database.exec('BEGIN IMMEDIATE')
  try {
    const applied = Number(database.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0)
    if (applied > migrations.length) {
      throw new Error(`${path} was written by a newer version of Drawbridge (schema ${applied}).`)
    }
    for (const migration of migrations.slice(applied)) database.exec(migration)
    database.exec(`PRAGMA user_version = ${migrations.length}; COMMIT`)
  } catch (error) {
    database.exec('ROLLBACK')
    database.close()
    throw error
  }
  return database
}
