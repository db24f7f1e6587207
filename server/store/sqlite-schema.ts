import type { DatabaseSync } from 'node:sqlite'

/** Numbered migrations: index + 1 is the version a database has after it. Only ever appended to. */
const migrations: readonly string[] = [
  `CREATE TABLE client (
     id TEXT PRIMARY KEY, name TEXT, uri TEXT, redirect_uris TEXT NOT NULL, grant_types TEXT NOT NULL,
     auth_method TEXT NOT NULL, secret_hash TEXT, created_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE social_sign_in (
     id TEXT PRIMARY KEY, binding_hash TEXT NOT NULL, sealed TEXT NOT NULL, expires_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX social_sign_in_binding ON social_sign_in (binding_hash);
   CREATE INDEX social_sign_in_expiry ON social_sign_in (expires_at);
   CREATE TABLE authorization_code (
     code_hash TEXT PRIMARY KEY, grant_json TEXT NOT NULL, redirect_uri TEXT NOT NULL, code_challenge TEXT NOT NULL,
     expires_at INTEGER NOT NULL, redeemed_at INTEGER,
     session_sealed TEXT, session_issued_at INTEGER NOT NULL, session_expires_at INTEGER NOT NULL,
     session_version INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX authorization_code_expiry ON authorization_code (expires_at);
   CREATE TABLE grants (
     id TEXT PRIMARY KEY, user_id TEXT NOT NULL, user_sub TEXT NOT NULL, user_email TEXT, user_name TEXT,
     client_id TEXT NOT NULL, resource TEXT NOT NULL, scope TEXT NOT NULL,
     created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, ended_at INTEGER, end_reason TEXT
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX grants_expiry ON grants (expires_at);
   CREATE TABLE access_token (
     hash TEXT PRIMARY KEY, grant_id TEXT NOT NULL, scope TEXT NOT NULL, expires_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX access_token_expiry ON access_token (expires_at);
   CREATE TABLE refresh_token (
     hash TEXT PRIMARY KEY, grant_id TEXT NOT NULL, used_at INTEGER, sealed_tokens TEXT, expires_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);
   CREATE TABLE provider_session (
     grant_id TEXT PRIMARY KEY, sealed TEXT NOT NULL, issued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
     version INTEGER NOT NULL, lease_owner TEXT, lease_until INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;`,
]

/**
 * Brings `database` to the newest schema, each step in one transaction.
 * Throws for a database that a newer Drawbridge has written.
 */
export function migrateSqlite(database: DatabaseSync): void {
  const row = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (row.user_version > migrations.length) {
    throw new Error(
      `The database has schema ${row.user_version}, this version knows up to ${migrations.length}. Start the newer Drawbridge, or use another STORE.`,
    )
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < row.user_version) continue
    database.exec(`BEGIN IMMEDIATE; ${migration} PRAGMA user_version = ${index + 1}; COMMIT;`)
  }
}
