import type { DatabaseSync } from 'node:sqlite'
import { sqliteMigrations } from './migrations.ts'

const newest = sqliteMigrations.length

/** Migrates `database` to the newest schema, each step in one transaction. Throws for a database written by a newer Drawbridge. */
export function migrateSqlite(
  database: DatabaseSync,
  migrations: readonly string[] = sqliteMigrations,
): void {
  const version = checkedVersion(database)
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue
    database.exec(`BEGIN IMMEDIATE; ${migration} PRAGMA user_version = ${index + 1}; COMMIT;`)
  }
}

/** Throws unless `database` has the newest schema: a command that shares it with a server must not change it. */
export function checkSqliteSchema(database: DatabaseSync): void {
  const version = checkedVersion(database)
  if (version === newest) return
  throw new Error(
    `The database has schema ${version}, this version needs ${newest}. Start the server, or run \`drawbridge-server migrate\`.`,
  )
}

function checkedVersion(database: DatabaseSync): number {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version <= newest) return version
  throw new Error(
    `The database has schema ${version}, this version knows up to ${newest}. Start the newer Drawbridge, or use another STORE.`,
  )
}
