/** Words of SQL in which the drivers differ. */
export interface SchemaDialect {
  /** Type of a text that is compared byte by byte. */
  key: string
  integer: string
  boolean: string
  /** Definition of a column that counts rows as they are added. */
  number: string
  /** Definitions of the columns that only this driver has in `grants`, with the key `id` among them. */
  grantKey: string
  /** Options of a table. `fill`: rows change in place, and pages keep room for that; `large`: its rows are many, or long. */
  options: (table?: { fill?: number; large?: boolean }) => string
}

/**
 * Returns the tables that both drivers have, with their indexes.
 *
 * The expressions in the indexes on codes and grants keep out all statements but those that query the owner. A code and a second
 * factor have their session in `provider_session` from the start, under the id of the grant to be and of the second factor.
 */
export function commonTables(dialect: SchemaDialect): string {
  const { key, integer, boolean, number, options } = dialect
  return `
   CREATE TABLE client (
     id ${key} PRIMARY KEY, name text, uri text, redirect_uris text NOT NULL, grant_types text NOT NULL,
     auth_method text NOT NULL, secret_hash text, created_at ${integer} NOT NULL, kind text NOT NULL, expires_at ${integer},
     kept ${boolean} NOT NULL DEFAULT false, details text NOT NULL, network text NOT NULL,
     opened_at ${integer} NOT NULL DEFAULT 0
   ) ${options()};
   CREATE INDEX client_expiry ON client (expires_at);
   CREATE INDEX client_service ON client (id) WHERE kind = 'service';

   CREATE TABLE social_sign_in (
     number ${number}, id ${key} NOT NULL UNIQUE, binding_hash ${key} NOT NULL, sealing_key ${key} NOT NULL,
     sealed text NOT NULL, expires_at ${integer} NOT NULL
   ) ${options({ large: true })};
   CREATE INDEX social_sign_in_binding ON social_sign_in (binding_hash, number);
   CREATE INDEX social_sign_in_sealing_key ON social_sign_in (sealing_key);
   CREATE INDEX social_sign_in_expiry ON social_sign_in (expires_at);

   CREATE TABLE second_factor (
     id ${key} PRIMARY KEY, binding_hash text NOT NULL, sealing_key ${key} NOT NULL, sealed text NOT NULL,
     expires_at ${integer} NOT NULL, attempts ${integer} NOT NULL DEFAULT 0
   ) ${options()};
   CREATE INDEX second_factor_sealing_key ON second_factor (sealing_key);
   CREATE INDEX second_factor_expiry ON second_factor (expires_at);

   CREATE TABLE attempt (
     key ${key} PRIMARY KEY, count ${integer} NOT NULL, window_ends_at ${integer} NOT NULL
   ) ${options({ fill: 50 })};
   CREATE INDEX attempt_expiry ON attempt (window_ends_at);

   CREATE TABLE attempt_steps (
     number ${number}, steps text NOT NULL, expires_at ${integer} NOT NULL
   ) ${options({ large: true })};
   CREATE INDEX attempt_steps_expiry ON attempt_steps (expires_at);

   CREATE TABLE device (
     device_hash ${key} PRIMARY KEY, user_code_hash ${key} NOT NULL, client_id text NOT NULL, scope text NOT NULL,
     resource text NOT NULL, address text, created_at ${integer} NOT NULL, expires_at ${integer} NOT NULL, decision text,
     polled_at ${integer}, polled_early ${boolean} NOT NULL DEFAULT false
   ) ${options({ fill: 50 })};
   CREATE UNIQUE INDEX device_user_code ON device (user_code_hash);
   CREATE INDEX device_expiry ON device (expires_at);

   ${grantTables(dialect)}`
}

function grantTables({ key, integer, boolean, grantKey, options }: SchemaDialect): string {
  return `CREATE TABLE authorization_code (
     code_hash ${key} PRIMARY KEY, grant_id ${key} NOT NULL, user_id ${key} NOT NULL, user_sub text NOT NULL,
     user_email text, user_name text, client_id ${key} NOT NULL, resource text NOT NULL, scope text NOT NULL,
     workspace_id text, workspace_name text, grant_created_at ${integer} NOT NULL, grant_expires_at ${integer} NOT NULL, redirect_uri text NOT NULL,
     code_challenge text NOT NULL, expires_at ${integer} NOT NULL, redeemed_at ${integer}, holds_session_until ${integer},
     replaces text
   ) ${options()};
   CREATE INDEX authorization_code_expiry ON authorization_code (expires_at);
   CREATE INDEX authorization_code_session ON authorization_code (holds_session_until);
   CREATE INDEX authorization_code_user ON authorization_code ((user_id || ''), (expires_at + 0))
     WHERE coalesce(holds_session_until, 0) > 0;
   CREATE INDEX authorization_code_client ON authorization_code ((client_id || ''), (expires_at + 0))
     WHERE coalesce(holds_session_until, 0) > 0;

   CREATE TABLE grants (
     ${grantKey}, user_id ${key} NOT NULL, user_sub text NOT NULL, user_email ${key}, user_name text,
     client_id ${key} NOT NULL, resource text NOT NULL, scope text NOT NULL, workspace_id text, workspace_name text,
     created_at ${integer} NOT NULL, expires_at ${integer} NOT NULL, ended_at ${integer}, end_reason text, family_hash ${key},
     last_used_at ${integer}, last_address text, last_tool text,
     two_addresses_at ${integer}, two_addresses_first text, two_addresses_other text,
     replay_count ${integer}, replayed_at ${integer}, replay_first_address text, replay_address text
   ) ${options({ fill: 80, large: true })};
   CREATE INDEX grants_expiry ON grants (expires_at);
   CREATE INDEX grants_email ON grants (substr(lower(user_email), 1, 320));
   CREATE INDEX grants_user ON grants ((user_id || ''), (id || ''));
   CREATE INDEX grants_client ON grants ((client_id || ''), (id || ''));
   CREATE INDEX grants_client_live ON grants ((client_id || ''), (id || '')) WHERE coalesce(ended_at, 0) = 0;
   CREATE UNIQUE INDEX grants_family ON grants (family_hash) WHERE family_hash IS NOT NULL;

   CREATE TABLE provider_session (
     grant_id ${key} PRIMARY KEY, sealing_key ${key} NOT NULL, sealed text NOT NULL, issued_at ${integer} NOT NULL,
     expires_at ${integer} NOT NULL, version ${integer} NOT NULL, refused_since ${integer},
     taken_up ${boolean} NOT NULL DEFAULT false, lease_owner text, lease_until ${integer} NOT NULL DEFAULT 0,
     open_leases ${integer} NOT NULL DEFAULT 0, sign_out_due_at ${integer}, sign_out_since ${integer},
     sign_out_attempts ${integer} NOT NULL DEFAULT 0
   ) ${options({ fill: 75, large: true })};
   CREATE INDEX provider_session_sealing_key ON provider_session (sealing_key, grant_id);
   CREATE INDEX provider_session_sign_out ON provider_session (sign_out_due_at) WHERE sign_out_due_at IS NOT NULL;

   CREATE TABLE provider_renewal (
     issuer ${key} PRIMARY KEY, renewed_at ${integer} NOT NULL
   ) ${options({ fill: 50 })};`
}
