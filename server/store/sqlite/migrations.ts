/** The name of the key in a sealed value, as `sealingKeyOf` reads it. Indexes are only used by this very expression. */
export function kidOf(column: string): string {
  return `substr(${column}, 1, instr(${column}, '.') - 1)`
}

/**
 * Numbered migrations: index + 1 is the version a database has after it. Only ever appended to.
 *
 * Tokens, grants and sessions refer to each other by numbers given in order of arrival: with millions of them, a refresh
 * then changes few pages. Numbers of grants are never given twice, or a forgotten token would serve another grant.
 * The successor of a refresh token is its own number until it is used, and what belongs to that use (when it was, the
 * sealed answer) is in the row of the successor: the old row does not grow, so no page has to be split for it.
 */
export const sqliteMigrations: readonly string[] = [
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

  `CREATE TABLE attempt (
     key TEXT PRIMARY KEY, count INTEGER NOT NULL, window_ends_at INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX attempt_expiry ON attempt (window_ends_at);

   CREATE TABLE second_factor (
     id TEXT PRIMARY KEY, binding_hash TEXT NOT NULL, sealed TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
     session_sealed TEXT NOT NULL, session_issued_at INTEGER NOT NULL, session_expires_at INTEGER NOT NULL,
     session_version INTEGER NOT NULL, expires_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX second_factor_expiry ON second_factor (expires_at);

   CREATE TABLE sign_out (
     grant_id TEXT PRIMARY KEY, sealed TEXT NOT NULL, issued_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
     version INTEGER NOT NULL, attempts INTEGER NOT NULL, since INTEGER NOT NULL, due_at INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX sign_out_due ON sign_out (due_at);
   INSERT INTO sign_out
     SELECT s.grant_id, s.sealed, s.issued_at, s.expires_at, s.version, 0, g.ended_at, g.ended_at
     FROM provider_session s JOIN grants g ON g.id = s.grant_id
     WHERE g.ended_at IS NOT NULL AND g.end_reason <> 'provider_session_ended';

   DROP INDEX grants_expiry;
   ALTER TABLE grants RENAME TO grants_1;
   CREATE TABLE grants (
     number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, user_id TEXT NOT NULL, user_sub TEXT NOT NULL,
     user_email TEXT, user_name TEXT, client_id TEXT NOT NULL, resource TEXT NOT NULL, scope TEXT NOT NULL,
     created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, ended_at INTEGER, end_reason TEXT,
     first_refresh_token INTEGER
   ) STRICT;
   INSERT INTO grants (id, user_id, user_sub, user_email, user_name, client_id, resource, scope, created_at, expires_at,
       ended_at, end_reason)
     SELECT * FROM grants_1 ORDER BY created_at, id;
   CREATE UNIQUE INDEX grants_id ON grants (id);
   CREATE INDEX grants_expiry ON grants (expires_at);

   DROP INDEX access_token_expiry;
   ALTER TABLE access_token RENAME TO access_token_1;
   CREATE TABLE access_token (
     number INTEGER PRIMARY KEY, hash TEXT NOT NULL, grant_number INTEGER NOT NULL, scope TEXT NOT NULL,
     expires_at INTEGER NOT NULL
   ) STRICT;
   INSERT INTO access_token (hash, grant_number, scope, expires_at)
     SELECT t.hash, g.number, t.scope, t.expires_at
     FROM access_token_1 t JOIN grants g ON g.id = t.grant_id ORDER BY t.expires_at;
   CREATE UNIQUE INDEX access_token_hash ON access_token (hash);
   CREATE INDEX access_token_expiry ON access_token (expires_at);

   DROP INDEX refresh_token_expiry;
   ALTER TABLE refresh_token RENAME TO refresh_token_1;
   CREATE TABLE refresh_token (
     number INTEGER PRIMARY KEY, hash TEXT NOT NULL, grant_number INTEGER NOT NULL, successor INTEGER NOT NULL,
     issued_at INTEGER NOT NULL, sealed_tokens TEXT
   ) STRICT;
   CREATE TABLE refresh_token_2 (
     number INTEGER PRIMARY KEY, hash TEXT, grant_number INTEGER, used_at INTEGER, sealed_tokens TEXT
   ) STRICT;
   INSERT INTO refresh_token_2 (hash, grant_number, used_at, sealed_tokens)
     SELECT t.hash, g.number, t.used_at, t.sealed_tokens
     FROM refresh_token_1 t CROSS JOIN grants g ON g.id = t.grant_id
     ORDER BY g.number, t.used_at IS NULL, t.used_at, t.hash;
   INSERT INTO refresh_token (number, hash, grant_number, successor, issued_at, sealed_tokens)
     SELECT t.number, t.hash, t.grant_number, coalesce(next.number, t.number),
       coalesce(previous.used_at, g.created_at), previous.sealed_tokens
     FROM refresh_token_2 t JOIN grants g ON g.number = t.grant_number
       LEFT JOIN refresh_token_2 next ON next.number = t.number + 1 AND next.grant_number = t.grant_number
       LEFT JOIN refresh_token_2 previous
         ON previous.number = t.number - 1 AND previous.grant_number = t.grant_number
     ORDER BY t.number;
   CREATE UNIQUE INDEX refresh_token_hash ON refresh_token (hash);
   UPDATE grants SET first_refresh_token = f.number
     FROM (SELECT grant_number, min(number) AS number FROM refresh_token GROUP BY grant_number) f
     WHERE f.grant_number = grants.number;

   ALTER TABLE provider_session RENAME TO provider_session_1;
   CREATE TABLE provider_session (
     grant_number INTEGER PRIMARY KEY, grant_id TEXT NOT NULL, sealed TEXT NOT NULL, issued_at INTEGER NOT NULL,
     expires_at INTEGER NOT NULL, version INTEGER NOT NULL, lease_owner TEXT, lease_until INTEGER NOT NULL DEFAULT 0,
     lease_attempts INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   INSERT INTO provider_session (grant_number, grant_id, sealed, issued_at, expires_at, version, lease_attempts)
     SELECT g.number, s.grant_id, s.sealed, s.issued_at, s.expires_at, s.version, s.lease_until > 0
     FROM provider_session_1 s CROSS JOIN grants g ON g.id = s.grant_id WHERE g.ended_at IS NULL
     ORDER BY g.number;
   CREATE INDEX provider_session_leased ON provider_session (lease_until) WHERE lease_until > 0;

   DROP TABLE provider_session_1;
   DROP TABLE refresh_token_1;
   DROP TABLE refresh_token_2;
   DROP TABLE access_token_1;
   DROP TABLE grants_1;

   CREATE INDEX authorization_code_unused ON authorization_code (expires_at) WHERE session_sealed IS NOT NULL;
   CREATE INDEX authorization_code_kid ON authorization_code (${kidOf('session_sealed')})
     WHERE session_sealed IS NOT NULL;
   CREATE INDEX provider_session_kid ON provider_session (${kidOf('sealed')}, grant_id);
   CREATE INDEX second_factor_kid ON second_factor (${kidOf('sealed')});
   CREATE INDEX second_factor_session_kid ON second_factor (${kidOf('session_sealed')});
   CREATE INDEX sign_out_kid ON sign_out (${kidOf('sealed')}, grant_id);
   CREATE INDEX social_sign_in_kid ON social_sign_in (${kidOf('sealed')});`,

  `CREATE INDEX grants_user ON grants (user_id, id);
   CREATE INDEX grants_client ON grants (client_id, id);
   CREATE INDEX grants_client_live ON grants (client_id, id) WHERE ended_at IS NULL;
   ALTER TABLE grants ADD COLUMN last_used_at INTEGER;
   ALTER TABLE grants ADD COLUMN last_address TEXT;

   ALTER TABLE client ADD COLUMN kind TEXT NOT NULL DEFAULT 'registered';
   ALTER TABLE client ADD COLUMN expires_at INTEGER;
   ALTER TABLE client ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE client ADD COLUMN details TEXT NOT NULL DEFAULT '{}';
   UPDATE client SET expires_at = max(created_at, unixepoch()) + 90 * 86400;
   UPDATE client SET kept = 1, expires_at = max(client.expires_at, g.ends_at + 90 * 86400)
     FROM (SELECT client_id, max(expires_at) AS ends_at FROM grants GROUP BY client_id) g
     WHERE g.client_id = client.id;
   CREATE INDEX client_expiry ON client (expires_at);
   CREATE INDEX client_unused ON client (created_at, kind, kept, expires_at)
     WHERE kind = 'registered' AND kept = 0 AND coalesce(expires_at, 0) > 0;

   CREATE TABLE device (
     device_hash TEXT PRIMARY KEY, user_code_hash TEXT NOT NULL, client_id TEXT NOT NULL, scope TEXT NOT NULL,
     resource TEXT NOT NULL, address TEXT, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, decision TEXT,
     polled_at INTEGER, slowed_seconds INTEGER NOT NULL DEFAULT 0
   ) STRICT, WITHOUT ROWID;
   CREATE UNIQUE INDEX device_user_code ON device (user_code_hash);
   CREATE INDEX device_expiry ON device (expires_at);`,

  `ALTER TABLE client ADD COLUMN network TEXT NOT NULL DEFAULT '';
   ALTER TABLE client ADD COLUMN opened_at INTEGER NOT NULL DEFAULT 0;
   DROP INDEX client_unused;
   CREATE INDEX client_unused ON client (network, created_at, opened_at, kind, kept, expires_at)
     WHERE kind = 'registered' AND kept = 0 AND coalesce(expires_at, 0) > 0;`,

  // A rotation is kept with the access token that it brought, and goes with it: what answers a replay, where it came from, and
  // the refresh token that was used, which nobody looks for any more by then.
  `ALTER TABLE authorization_code ADD COLUMN user_id TEXT;
   ALTER TABLE authorization_code ADD COLUMN client_id TEXT;
   UPDATE authorization_code
     SET user_id = json_extract(grant_json, '$.user.id'), client_id = json_extract(grant_json, '$.clientId')
     WHERE session_sealed IS NOT NULL;
   CREATE INDEX authorization_code_user ON authorization_code (user_id, expires_at) WHERE session_sealed IS NOT NULL;
   CREATE INDEX authorization_code_client ON authorization_code (client_id, expires_at)
     WHERE session_sealed IS NOT NULL;

   ALTER TABLE grants ADD COLUMN family_hash TEXT;
   ALTER TABLE grants ADD COLUMN replay_count INTEGER;
   ALTER TABLE grants ADD COLUMN replayed_at INTEGER;
   ALTER TABLE grants ADD COLUMN replay_first_address TEXT;
   ALTER TABLE grants ADD COLUMN replay_address TEXT;
   CREATE UNIQUE INDEX grants_family ON grants (family_hash) WHERE family_hash IS NOT NULL;
   CREATE INDEX grants_ended ON grants (number) WHERE ended_at IS NOT NULL AND first_refresh_token IS NOT NULL;

   ALTER TABLE access_token ADD COLUMN replaces INTEGER;
   ALTER TABLE access_token ADD COLUMN kept_until INTEGER;
   ALTER TABLE access_token ADD COLUMN first_used_at INTEGER;
   ALTER TABLE access_token ADD COLUMN address TEXT;
   ALTER TABLE access_token ADD COLUMN sealed_tokens TEXT;
   DROP INDEX access_token_expiry;
   CREATE INDEX access_token_end ON access_token (coalesce(kept_until, expires_at));
   ALTER TABLE refresh_token ADD COLUMN access_number INTEGER;
   UPDATE refresh_token SET sealed_tokens = NULL WHERE sealed_tokens IS NOT NULL AND issued_at < unixepoch() - 180;`,

  `ALTER TABLE provider_session ADD COLUMN refused_since INTEGER;
   CREATE TABLE provider_renewal (issuer TEXT PRIMARY KEY, renewed_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,

  `ALTER TABLE grants ADD COLUMN last_tool TEXT;
   ALTER TABLE grants ADD COLUMN two_addresses_at INTEGER;
   ALTER TABLE grants ADD COLUMN two_addresses_first TEXT;
   ALTER TABLE grants ADD COLUMN two_addresses_other TEXT;`,
]
