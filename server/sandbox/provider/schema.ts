/** The tables of the embedded provider. */
export const schema = `CREATE TABLE IF NOT EXISTS account (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL,
  is_sso INTEGER NOT NULL,
  password_hash TEXT,
  confirmed_at INTEGER,
  banned_until INTEGER,
  user_metadata TEXT NOT NULL,
  last_sign_in_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS account_email ON account (email) WHERE is_sso = 0;
CREATE TABLE IF NOT EXISTS identity (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  provider TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  data TEXT NOT NULL,
  last_sign_in_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (provider, provider_id)
) STRICT;
CREATE INDEX IF NOT EXISTS identity_account ON identity (account_id);
CREATE TABLE IF NOT EXISTS session (
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
CREATE INDEX IF NOT EXISTS session_account ON session (account_id);
CREATE TABLE IF NOT EXISTS factor (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  friendly_name TEXT NOT NULL,
  status TEXT NOT NULL,
  secret TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS factor_account ON factor (account_id);
CREATE TABLE IF NOT EXISTS challenge (
  id TEXT PRIMARY KEY,
  factor_id TEXT NOT NULL REFERENCES factor (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  verified_at INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS signing_key (
  kid TEXT PRIMARY KEY,
  private_jwk TEXT NOT NULL,
  created_order INTEGER NOT NULL UNIQUE
) STRICT;`
