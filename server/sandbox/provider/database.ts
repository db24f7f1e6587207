// Callers promise a row type that matches the columns in their SQL; only this file relies on it.
/* oxlint-disable typescript/no-unnecessary-type-parameters, typescript/no-unsafe-type-assertion */
import type { SQLInputValue, StatementSync } from 'node:sqlite'
import { openDatabaseFile } from '../database-file.ts'

/** The SQLite file of the embedded provider. Calls are synchronous, so nothing interleaves inside a transaction. */
export interface Database {
  /** First row or undefined. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[]
  run(sql: string, ...values: SQLInputValue[]): number
  /** Commits what `body` did, or nothing if it throws. */
  transaction<T>(body: () => T): T
  close(): void
}

/** One entry per schema version, append only; `PRAGMA user_version` counts the applied ones. */
const migrations: readonly string[] = [
  `CREATE TABLE account (
     id TEXT PRIMARY KEY,
     email TEXT NOT NULL UNIQUE,
     password_hash TEXT,
     confirmed_at INTEGER,
     banned_until INTEGER,
     user_metadata TEXT NOT NULL,
     last_sign_in_at INTEGER,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE identity (
     id TEXT PRIMARY KEY,
     account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
     provider TEXT NOT NULL,
     provider_id TEXT NOT NULL,
     data TEXT NOT NULL,
     last_sign_in_at INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     UNIQUE (provider, provider_id)
   ) STRICT;
   CREATE INDEX identity_account ON identity (account_id);
   CREATE TABLE session (
     id TEXT PRIMARY KEY,
     account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
     aal TEXT NOT NULL,
     amr TEXT NOT NULL,
     refresh_key BLOB NOT NULL,
     refresh_counter INTEGER NOT NULL,
     refresh_floor INTEGER NOT NULL,
     refreshed_at INTEGER NOT NULL,
     created_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX session_account ON session (account_id);
   CREATE TABLE factor (
     id TEXT PRIMARY KEY,
     account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
     friendly_name TEXT NOT NULL,
     status TEXT NOT NULL,
     secret TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX factor_account ON factor (account_id);
   CREATE TABLE challenge (
     id TEXT PRIMARY KEY,
     factor_id TEXT NOT NULL REFERENCES factor (id) ON DELETE CASCADE,
     created_at INTEGER NOT NULL,
     verified_at INTEGER
   ) STRICT;
   CREATE TABLE flow (
     state TEXT PRIMARY KEY,
     redirect_to TEXT NOT NULL,
     code_challenge TEXT NOT NULL,
     code_hash TEXT UNIQUE,
     account_id TEXT REFERENCES account (id) ON DELETE CASCADE,
     created_at INTEGER NOT NULL,
     provider TEXT NOT NULL
   ) STRICT;
   CREATE TABLE signing_key (
     kid TEXT PRIMARY KEY,
     private_jwk TEXT NOT NULL,
     created_order INTEGER NOT NULL UNIQUE
   ) STRICT;
   CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;`,
]

/** Opens the database at `path`, or `:memory:`; other processes may have it open too. */
export function openDatabase(path: string): Database {
  const connection = openDatabaseFile(path, migrations)
  connection.exec('PRAGMA foreign_keys = ON;')
  const statements = new Map<string, StatementSync>()
  let inTransaction = false

  function prepare(sql: string): StatementSync {
    const statement = statements.get(sql) ?? connection.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  function transaction<T>(body: () => T): T {
    if (inTransaction) return body()
    connection.exec('BEGIN IMMEDIATE')
    inTransaction = true
    try {
      const result = body()
      connection.exec('COMMIT')
      return result
    } catch (error) {
      connection.exec('ROLLBACK')
      throw error
    } finally {
      inTransaction = false
    }
  }

  return {
    get: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).all(...values) as Row[],
    run: (sql, ...values) => Number(prepare(sql).run(...values).changes),
    transaction,
    close: () => connection.close(),
  }
}
