import type { DatabaseSync } from 'node:sqlite'
import { commonTables } from '../sql/schema.ts'

/**
 * Numbered migrations: index + 1 is the version of a database after it. Append only.
 *
 * Tokens and grants refer to each other by sequential numbers: with millions of them, a refresh then changes few pages. Numbers of
 * grants are never reused, or a forgotten token would work for another grant. The successor of a refresh token is its own number
 * until it is used. The use itself is stored with the resulting access token, and deleted with it: the response to a replay, its
 * address, and the used refresh token. The old row does not grow, so no page has to be split for it.
 */
export const sqliteMigrations: readonly string[] = [
  `${commonTables({
    key: 'TEXT',
    integer: 'INTEGER',
    boolean: 'INTEGER',
    number: 'INTEGER PRIMARY KEY',
    grantKey:
      'number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, first_refresh_token INTEGER',
    options: ({ large = false } = {}) => (large ? 'STRICT' : 'STRICT, WITHOUT ROWID'),
  })}
   CREATE INDEX client_unused ON client (network, created_at, opened_at, kind, kept, expires_at)
     WHERE kind = 'registered' AND kept = 0 AND coalesce(expires_at, 0) > 0;
   CREATE INDEX grants_ended ON grants (number) WHERE ended_at IS NOT NULL AND first_refresh_token IS NOT NULL;
   CREATE INDEX provider_session_leased ON provider_session (lease_until) WHERE lease_until > 0;

   CREATE TABLE access_token (
     number INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, grant_number INTEGER NOT NULL, scope TEXT NOT NULL,
     expires_at INTEGER NOT NULL, kept_until INTEGER NOT NULL, replaces INTEGER, first_used_at INTEGER, address TEXT,
     sealed_tokens TEXT
   ) STRICT;
   CREATE INDEX access_token_end ON access_token (kept_until);

   CREATE TABLE refresh_token (
     number INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, grant_number INTEGER NOT NULL, successor INTEGER NOT NULL,
     issued_at INTEGER NOT NULL, access_number INTEGER NOT NULL
   ) STRICT;`,
]

const newest = sqliteMigrations.length

/** Migrates `database` to the newest schema, each step in one transaction. Throws for a database written by a newer Drawbridge. */
export function migrateSqlite(
  database: DatabaseSync,
  migrations: readonly string[] = sqliteMigrations,
): void {
  const version = readSqliteVersion(database)
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue
    database.exec(`BEGIN IMMEDIATE; ${migration} PRAGMA user_version = ${index + 1}; COMMIT;`)
  }
}

/** Throws unless `database` has the newest schema: a command that shares it with a server must not change it. */
export function checkSqliteSchema(database: DatabaseSync): void {
  const version = readSqliteVersion(database)
  if (version === newest) return
  throw new Error(
    `The database has schema ${version}, this version needs ${newest}. Start the server, or run \`drawbridge-server migrate\`.`,
  )
}

/** Returns the version of the schema, 0 without one. Throws for a database written by a newer Drawbridge. */
export function readSqliteVersion(database: Pick<DatabaseSync, 'prepare'>): number {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version <= newest) return version
  throw new Error(
    `The database has schema ${version}, this version knows up to ${newest}. Start the newer Drawbridge, or use another STORE.`,
  )
}
