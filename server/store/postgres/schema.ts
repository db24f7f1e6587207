import type { ClientBase } from 'pg'
import { DatabaseRefusedError } from './error.ts'

/**
 * Numbered migrations: index + 1 is the version of a database after it. Append only. Instances of the previous version keep running
 * during a migration, so it may add what they do not know but not remove what they use.
 *
 * Keys compare byte by byte (`COLLATE "C"`): faster, and an update of the system's collations cannot break an index. Refresh tokens
 * and sessions change in place, so their pages keep room for that; no index contains frequently changing columns. The expressions
 * in the indexes on codes and grants keep out all statements but those that query the owner: in an empty table any index that has
 * the column seems as good as the key.
 */
export const postgresMigrations: readonly string[] = [
  `CREATE TABLE client (
     id text COLLATE "C" PRIMARY KEY, name text, uri text, redirect_uris text NOT NULL, grant_types text NOT NULL,
     auth_method text NOT NULL, secret_hash text, created_at bigint NOT NULL, kind text NOT NULL, expires_at bigint,
     kept boolean NOT NULL DEFAULT false, details text NOT NULL, network text NOT NULL, opened_at bigint NOT NULL DEFAULT 0
   );
   CREATE INDEX client_expiry ON client (expires_at);
   CREATE INDEX client_unused ON client (created_at)
     WHERE kind = 'registered' AND NOT kept AND expires_at IS NOT NULL;

   CREATE TABLE social_sign_in (
     id text COLLATE "C" PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY,
     binding text COLLATE "C" NOT NULL, sealing_key text COLLATE "C" NOT NULL, sealed text NOT NULL,
     expires_at bigint NOT NULL
   );
   CREATE INDEX social_sign_in_binding ON social_sign_in (binding, number);
   CREATE INDEX social_sign_in_sealing_key ON social_sign_in (sealing_key);
   CREATE INDEX social_sign_in_expiry ON social_sign_in (expires_at);

   CREATE TABLE second_factor (
     id text COLLATE "C" PRIMARY KEY, binding text NOT NULL, sealing_key text COLLATE "C" NOT NULL, sealed text NOT NULL,
     expires_at bigint NOT NULL, attempts bigint NOT NULL DEFAULT 0
   );
   CREATE INDEX second_factor_sealing_key ON second_factor (sealing_key);
   CREATE INDEX second_factor_expiry ON second_factor (expires_at);

   CREATE TABLE attempt (
     key text COLLATE "C" PRIMARY KEY, count bigint NOT NULL, window_ends_at bigint NOT NULL
   ) WITH (fillfactor = 50);
   CREATE INDEX attempt_expiry ON attempt (window_ends_at);

   CREATE TABLE device (
     device_hash text COLLATE "C" PRIMARY KEY, user_code_hash text COLLATE "C" NOT NULL, client_id text NOT NULL,
     scope text NOT NULL, resource text NOT NULL, address text, created_at bigint NOT NULL, expires_at bigint NOT NULL,
     decision text, polled_at bigint, polled_early boolean NOT NULL DEFAULT false,
     slowed_seconds bigint NOT NULL DEFAULT 0
   ) WITH (fillfactor = 50);
   CREATE UNIQUE INDEX device_user_code ON device (user_code_hash);
   CREATE INDEX device_expiry ON device (expires_at);

   CREATE TABLE authorization_code (
     code_hash text COLLATE "C" PRIMARY KEY, grant_id text COLLATE "C" NOT NULL,
     user_id text NOT NULL, user_sub text NOT NULL, user_email text, user_name text,
     client_id text NOT NULL, resource text NOT NULL, scope text NOT NULL,
     grant_created_at bigint NOT NULL, grant_expires_at bigint NOT NULL,
     redirect_uri text NOT NULL, code_challenge text NOT NULL,
     expires_at bigint NOT NULL, redeemed_at bigint, holds_session_until bigint
   );
   CREATE INDEX authorization_code_expiry ON authorization_code (expires_at);
   CREATE INDEX authorization_code_session ON authorization_code (holds_session_until);
   CREATE INDEX authorization_code_user ON authorization_code (user_id COLLATE "C", (expires_at + 0))
     WHERE coalesce(holds_session_until, 0) > 0;
   CREATE INDEX authorization_code_client ON authorization_code (client_id COLLATE "C", (expires_at + 0))
     WHERE coalesce(holds_session_until, 0) > 0;

   CREATE TABLE grants (
     id text COLLATE "C" PRIMARY KEY, user_id text NOT NULL, user_sub text NOT NULL, user_email text, user_name text,
     client_id text NOT NULL, resource text NOT NULL, scope text NOT NULL,
     created_at bigint NOT NULL, expires_at bigint NOT NULL, ended_at bigint, end_reason text,
     tokens_collected boolean NOT NULL DEFAULT false, family_hash text COLLATE "C",
     last_used_at bigint, last_address text, last_tool text,
     two_addresses_at bigint, two_addresses_first text, two_addresses_other text,
     replay_count bigint, replayed_at bigint, replay_first_address text, replay_address text
   ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
   CREATE INDEX grants_expiry ON grants (expires_at);
   CREATE INDEX grants_user ON grants (user_id COLLATE "C", (id || ''));
   CREATE INDEX grants_client ON grants (client_id COLLATE "C", (id || ''));
   CREATE INDEX grants_client_live ON grants (client_id COLLATE "C", (id || '')) WHERE coalesce(ended_at, 0) = 0;
   CREATE UNIQUE INDEX grants_family ON grants (family_hash) WHERE family_hash IS NOT NULL;
   CREATE INDEX grants_ended ON grants (ended_at) WHERE ended_at IS NOT NULL AND NOT tokens_collected;

   CREATE TABLE access_token (
     hash text COLLATE "C" PRIMARY KEY, grant_id text COLLATE "C" NOT NULL, scope text NOT NULL,
     expires_at bigint NOT NULL, kept_until bigint NOT NULL, sealed_tokens text, replaces text COLLATE "C",
     refresh_hash text COLLATE "C", first_used_at bigint, address text
   ) WITH (autovacuum_vacuum_scale_factor = 0.05);
   CREATE INDEX access_token_expiry ON access_token (kept_until);

   CREATE TABLE refresh_token (
     hash text COLLATE "C" PRIMARY KEY, grant_id text COLLATE "C" NOT NULL, expires_at bigint NOT NULL,
     used_at bigint, successor text COLLATE "C"
   ) WITH (fillfactor = 65, autovacuum_vacuum_scale_factor = 0.05);
   CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);
   CREATE INDEX refresh_token_grant ON refresh_token (grant_id);

   CREATE TABLE provider_session (
     grant_id text COLLATE "C" PRIMARY KEY, sealing_key text COLLATE "C" NOT NULL, sealed text NOT NULL,
     issued_at bigint NOT NULL, expires_at bigint NOT NULL, version bigint NOT NULL, refused_since bigint,
     taken_up boolean NOT NULL DEFAULT false,
     lease_owner text, lease_until bigint NOT NULL DEFAULT 0, open_leases bigint NOT NULL DEFAULT 0,
     sign_out_due_at bigint, sign_out_since bigint, sign_out_attempts bigint NOT NULL DEFAULT 0
   ) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
   ALTER TABLE provider_session ALTER COLUMN sealed SET STORAGE EXTERNAL;
   CREATE INDEX provider_session_sealing_key ON provider_session (sealing_key, grant_id);
   CREATE INDEX provider_session_sign_out ON provider_session (sign_out_due_at) WHERE sign_out_due_at IS NOT NULL;
   CREATE TABLE provider_renewal (
     issuer text COLLATE "C" PRIMARY KEY, renewed_at bigint NOT NULL
   ) WITH (fillfactor = 50);`,
]

// An arbitrary lock number no other program uses: the letters "drawbr".
const lockNumber = 0x64_72_61_77_62_72
const oldestServer = 150_000

/**
 * Migrates the database to the newest schema, in one transaction that only one instance runs at a time. Only reads a current
 * database. Throws {@link DatabaseRefusedError} for a database written by a newer Drawbridge, an old server, and an encoding other
 * than UTF-8, without changing anything.
 */
export async function migratePostgres(
  client: Pick<ClientBase, 'query'>,
  migrations: readonly string[] = postgresMigrations,
): Promise<void> {
  if ((await checkServer(client)) && (await readVersion(client, migrations)) === migrations.length) return
  await client.query('BEGIN')
  try {
    // A large table takes time, for the migrating server and for those that wait.
    await client.query(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'`)
    await client.query(`SELECT pg_advisory_xact_lock(${lockNumber})`)
    // Created rather than looked up: a connection may have cached that it does not exist.
    await client.query('CREATE TABLE IF NOT EXISTS drawbridge_schema (version integer NOT NULL)')
    const version = await readVersion(client, migrations)
    for (const migration of migrations.slice(version)) await client.query(migration)
    await client.query(
      `DELETE FROM drawbridge_schema; INSERT INTO drawbridge_schema (version) VALUES (${migrations.length})`,
    )
    await client.query('COMMIT')
  } catch (error) {
    // If the connection is gone, so is the transaction.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Returns whether a schema exists; throws for an unsuitable server or database. */
async function checkServer(client: Pick<ClientBase, 'query'>): Promise<boolean> {
  const { rows } = await client.query<{ made: string | null; encoding: string; server: string }>(
    `SELECT to_regclass('drawbridge_schema')::text AS made, current_setting('server_encoding') AS encoding,
       current_setting('server_version_num') AS server`,
  )
  const { made = null, encoding = '', server = '0' } = rows[0] ?? {}
  if (Number(server) < oldestServer) throw new DatabaseRefusedError('PostgreSQL 15 or newer is required.')
  if (encoding !== 'UTF8') {
    throw new DatabaseRefusedError(`The database has the encoding ${encoding}; UTF8 is required.`)
  }
  return made !== null
}

async function readVersion(
  client: Pick<ClientBase, 'query'>,
  migrations: readonly string[],
): Promise<number> {
  const { rows } = await client.query<{ version: number }>('SELECT version FROM drawbridge_schema')
  const version = rows[0]?.version ?? 0
  if (version > migrations.length) {
    throw new DatabaseRefusedError(
      `The database has schema ${version}, this version knows up to ${migrations.length}. Start the newer Drawbridge, or use another database.`,
    )
  }
  return version
}
