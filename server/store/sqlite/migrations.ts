/** Returns the key name in a sealed value, as `sealingKeyOf` reads it. Indexes are only used by this exact expression. */
export function kidOf(column: string): string {
  return `substr(${column}, 1, instr(${column}, '.') - 1)`
}

/**
 * Numbered migrations: index + 1 is the version of a database after it. Append only.
 *
 * Tokens, grants and sessions refer to each other by sequential numbers: with millions of them, a refresh then changes few pages.
 * Numbers of grants are never reused, or a forgotten token would work for another grant. The successor of a refresh token is its
 * own number until it is used. The use itself is stored with the resulting access token, and deleted with it: the response to a
 * replay, its address, and the used refresh token. The old row does not grow, so no page has to be split for it.
 */
export const sqliteMigrations: readonly string[] = [
  `CREATE TABLE client (
     id TEXT PRIMARY KEY, name TEXT, uri TEXT, redirect_uris TEXT NOT NULL, grant_types TEXT NOT NULL,
     auth_method TEXT NOT NULL, secret_hash TEXT, created_at INTEGER NOT NULL, kind TEXT NOT NULL, expires_at INTEGER,
     kept INTEGER NOT NULL DEFAULT 0, details TEXT NOT NULL, network TEXT NOT NULL, opened_at INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX client_expiry ON client (expires_at);
   CREATE INDEX client_unused ON client (network, created_at, opened_at, kind, kept, expires_at)
     WHERE kind = 'registered' AND kept = 0 AND coalesce(expires_at, 0) > 0;

   CREATE TABLE social_sign_in (
     id TEXT PRIMARY KEY, binding_hash TEXT NOT NULL, sealed TEXT NOT NULL, expires_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX social_sign_in_binding ON social_sign_in (binding_hash);
   CREATE INDEX social_sign_in_expiry ON social_sign_in (expires_at);
   CREATE INDEX social_sign_in_kid ON social_sign_in (${kidOf('sealed')});

   CREATE TABLE second_factor (
     id TEXT PRIMARY KEY, binding_hash TEXT NOT NULL, sealed TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
     session_sealed TEXT NOT NULL, session_issued_at INTEGER NOT NULL, session_expires_at INTEGER NOT NULL,
     session_version INTEGER NOT NULL, expires_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX second_factor_expiry ON second_factor (expires_at);
   CREATE INDEX second_factor_kid ON second_factor (${kidOf('sealed')});
   CREATE INDEX second_factor_session_kid ON second_factor (${kidOf('session_sealed')});

   CREATE TABLE attempt (
     key TEXT PRIMARY KEY, count INTEGER NOT NULL, window_ends_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX attempt_expiry ON attempt (window_ends_at);

   CREATE TABLE device (
     device_hash TEXT PRIMARY KEY, user_code_hash TEXT NOT NULL, client_id TEXT NOT NULL, scope TEXT NOT NULL,
     resource TEXT NOT NULL, address TEXT, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decision TEXT,
     polled_at INTEGER, slowed_seconds INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;
   CREATE UNIQUE INDEX device_user_code ON device (user_code_hash);
   CREATE INDEX device_expiry ON device (expires_at);

   CREATE TABLE authorization_code (
     code_hash TEXT PRIMARY KEY, grant_json TEXT NOT NULL, user_id TEXT NOT NULL, client_id TEXT NOT NULL,
     redirect_uri TEXT NOT NULL, code_challenge TEXT NOT NULL, expires_at INTEGER NOT NULL, redeemed_at INTEGER,
     session_sealed TEXT, session_issued_at INTEGER NOT NULL, session_expires_at INTEGER NOT NULL,
     session_version INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX authorization_code_expiry ON authorization_code (expires_at);
   CREATE INDEX authorization_code_unused ON authorization_code (expires_at) WHERE session_sealed IS NOT NULL;
   CREATE INDEX authorization_code_user ON authorization_code (user_id, expires_at) WHERE session_sealed IS NOT NULL;
   CREATE INDEX authorization_code_client ON authorization_code (client_id, expires_at) WHERE session_sealed IS NOT NULL;
   CREATE INDEX authorization_code_kid ON authorization_code (${kidOf('session_sealed')})
     WHERE session_sealed IS NOT NULL;

   CREATE TABLE grants (
     number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, user_id TEXT NOT NULL, user_sub TEXT NOT NULL,
     user_email TEXT, user_name TEXT, client_id TEXT NOT NULL, resource TEXT NOT NULL, scope TEXT NOT NULL,
     created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, ended_at INTEGER, end_reason TEXT,
     first_refresh_token INTEGER, family_hash TEXT, last_used_at INTEGER, last_address TEXT, last_tool TEXT,
     two_addresses_at INTEGER, two_addresses_first TEXT, two_addresses_other TEXT,
     replay_count INTEGER, replayed_at INTEGER, replay_first_address TEXT, replay_address TEXT
   ) STRICT;
   CREATE UNIQUE INDEX grants_id ON grants (id);
   CREATE UNIQUE INDEX grants_family ON grants (family_hash) WHERE family_hash IS NOT NULL;
   CREATE INDEX grants_expiry ON grants (expires_at);
   CREATE INDEX grants_user ON grants (user_id, id);
   CREATE INDEX grants_client ON grants (client_id, id);
   CREATE INDEX grants_client_live ON grants (client_id, id) WHERE ended_at IS NULL;
   CREATE INDEX grants_ended ON grants (number) WHERE ended_at IS NOT NULL AND first_refresh_token IS NOT NULL;

   CREATE TABLE access_token (
     number INTEGER PRIMARY KEY, hash TEXT NOT NULL, grant_number INTEGER NOT NULL, scope TEXT NOT NULL,
     expires_at INTEGER NOT NULL, kept_until INTEGER NOT NULL, replaces INTEGER, first_used_at INTEGER, address TEXT,
     sealed_tokens TEXT
   ) STRICT;
   CREATE UNIQUE INDEX access_token_hash ON access_token (hash);
   CREATE INDEX access_token_end ON access_token (kept_until);

   CREATE TABLE refresh_token (
     number INTEGER PRIMARY KEY, hash TEXT NOT NULL, grant_number INTEGER NOT NULL, successor INTEGER NOT NULL,
     issued_at INTEGER NOT NULL, access_number INTEGER NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX refresh_token_hash ON refresh_token (hash);

   CREATE TABLE provider_session (
     grant_number INTEGER PRIMARY KEY, grant_id TEXT NOT NULL, sealed TEXT NOT NULL, issued_at INTEGER NOT NULL,
     expires_at INTEGER NOT NULL, version INTEGER NOT NULL, refused_since INTEGER,
     lease_owner TEXT, lease_until INTEGER NOT NULL DEFAULT 0, lease_attempts INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX provider_session_leased ON provider_session (lease_until) WHERE lease_until > 0;
   CREATE INDEX provider_session_kid ON provider_session (${kidOf('sealed')}, grant_id);
   CREATE TABLE provider_renewal (issuer TEXT PRIMARY KEY, renewed_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

   CREATE TABLE sign_out (
     grant_id TEXT PRIMARY KEY, sealed TEXT NOT NULL, issued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
     version INTEGER NOT NULL, attempts INTEGER NOT NULL, since INTEGER NOT NULL, due_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX sign_out_due ON sign_out (due_at);
   CREATE INDEX sign_out_kid ON sign_out (${kidOf('sealed')}, grant_id);`,
]
