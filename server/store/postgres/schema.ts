import type { ClientBase } from 'pg'
import { DatabaseRefusedError } from './error.ts'

/**
 * Numbered migrations: index + 1 is the version a database has after it. Only ever appended to. Instances of the version
 * before keep running during one, so it may add what they do not know and not take away what they use.
 *
 * Keys compare byte by byte (`COLLATE "C"`): faster, and an update of the system's collations cannot break an index.
 * Refresh tokens and sessions change in place, so their pages keep room for that; no index names what changes often.
 */
export const postgresMigrations: readonly string[] = [
  `CREATE TABLE client (
     id text COLLATE "C" PRIMARY KEY, name text, uri text, redirect_uris text NOT NULL, grant_types text NOT NULL,
     auth_method text NOT NULL, secret_hash text, created_at bigint NOT NULL
   );
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
   CREATE TABLE grants (
     id text COLLATE "C" PRIMARY KEY, user_id text NOT NULL, user_sub text NOT NULL, user_email text, user_name text,
     client_id text NOT NULL, resource text NOT NULL, scope text NOT NULL,
     created_at bigint NOT NULL, expires_at bigint NOT NULL, ended_at bigint, end_reason text
   ) WITH (autovacuum_vacuum_scale_factor = 0.05);
   CREATE INDEX grants_expiry ON grants (expires_at);
   CREATE TABLE access_token (
     hash text COLLATE "C" PRIMARY KEY, grant_id text COLLATE "C" NOT NULL, scope text NOT NULL,
     expires_at bigint NOT NULL, kept_until bigint NOT NULL, sealed_tokens text
   ) WITH (autovacuum_vacuum_scale_factor = 0.05);
   CREATE INDEX access_token_expiry ON access_token (kept_until);
   CREATE TABLE refresh_token (
     hash text COLLATE "C" PRIMARY KEY, grant_id text COLLATE "C" NOT NULL, expires_at bigint NOT NULL,
     used_at bigint, successor text COLLATE "C"
   ) WITH (fillfactor = 65, autovacuum_vacuum_scale_factor = 0.05);
   CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);
   CREATE TABLE provider_session (
     grant_id text COLLATE "C" PRIMARY KEY, sealing_key text COLLATE "C" NOT NULL, sealed text NOT NULL,
     issued_at bigint NOT NULL, expires_at bigint NOT NULL, version bigint NOT NULL,
     taken_up boolean NOT NULL DEFAULT false,
     lease_owner text, lease_until bigint NOT NULL DEFAULT 0, open_leases bigint NOT NULL DEFAULT 0,
     sign_out_due_at bigint, sign_out_since bigint, sign_out_attempts bigint NOT NULL DEFAULT 0
   ) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
   ALTER TABLE provider_session ALTER COLUMN sealed SET STORAGE EXTERNAL;
   CREATE INDEX provider_session_sealing_key ON provider_session (sealing_key, grant_id);
   CREATE INDEX provider_session_sign_out ON provider_session (sign_out_due_at) WHERE sign_out_due_at IS NOT NULL;`,

  // The grants come last and in this order, so that they can be read while the indexes on them are made. What an instance
  // of the version before registers meanwhile gets its end by the default. The expressions in the indexes keep statements
  // out of them that look for one grant: in an empty table any index that has the column seems as good as the key.
  `CREATE TABLE device (
     device_hash text COLLATE "C" PRIMARY KEY, user_code_hash text COLLATE "C" NOT NULL, client_id text NOT NULL,
     scope text NOT NULL, resource text NOT NULL, address text, created_at bigint NOT NULL, expires_at bigint NOT NULL,
     decision text, polled_at bigint, polled_early boolean NOT NULL DEFAULT false,
     slowed_seconds bigint NOT NULL DEFAULT 0
   ) WITH (fillfactor = 50);
   CREATE UNIQUE INDEX device_user_code ON device (user_code_hash);
   CREATE INDEX device_expiry ON device (expires_at);
   ALTER TABLE client ADD COLUMN kind text NOT NULL DEFAULT 'registered',
     ADD COLUMN expires_at bigint DEFAULT extract(epoch FROM now())::bigint + 90 * 86400,
     ADD COLUMN kept boolean NOT NULL DEFAULT false, ADD COLUMN details text NOT NULL DEFAULT '{}';
   UPDATE client c SET kept = true, expires_at = greatest(c.expires_at, g.ends_at + 90 * 86400)
     FROM (SELECT client_id, max(expires_at) AS ends_at FROM grants GROUP BY client_id) g
     WHERE g.client_id = c.id;
   CREATE INDEX client_expiry ON client (expires_at);
   CREATE INDEX client_unused ON client (created_at)
     WHERE kind = 'registered' AND NOT kept AND expires_at IS NOT NULL;
   CREATE INDEX grants_user ON grants (user_id COLLATE "C", (id || ''));
   CREATE INDEX grants_client ON grants (client_id COLLATE "C", (id || ''));
   CREATE INDEX grants_client_live ON grants (client_id COLLATE "C", (id || '')) WHERE coalesce(ended_at, 0) = 0;
   ALTER TABLE grants SET (fillfactor = 80), ADD COLUMN last_used_at bigint, ADD COLUMN last_address text;`,

  `ALTER TABLE client ADD COLUMN network text NOT NULL DEFAULT '', ADD COLUMN opened_at bigint NOT NULL DEFAULT 0;`,
  // A rotation is kept with the access token that it brought, and goes with it, and so does the refresh token that was used.
  // The expressions in the indexes on codes keep all statements out of them but those that ask whose they are.
  `CREATE INDEX authorization_code_user ON authorization_code (user_id COLLATE "C", (expires_at + 0))
     WHERE coalesce(holds_session_until, 0) > 0;
   CREATE INDEX authorization_code_client ON authorization_code (client_id COLLATE "C", (expires_at + 0))
     WHERE coalesce(holds_session_until, 0) > 0;
   ALTER TABLE access_token ADD COLUMN replaces text COLLATE "C", ADD COLUMN refresh_hash text COLLATE "C",
     ADD COLUMN first_used_at bigint, ADD COLUMN address text;
   CREATE INDEX refresh_token_grant ON refresh_token (grant_id);
   ALTER TABLE grants ADD COLUMN family_hash text COLLATE "C", ADD COLUMN replay_count bigint,
     ADD COLUMN replayed_at bigint, ADD COLUMN replay_first_address text, ADD COLUMN replay_address text,
     ADD COLUMN tokens_collected boolean NOT NULL DEFAULT false;
   CREATE UNIQUE INDEX grants_family ON grants (family_hash) WHERE family_hash IS NOT NULL;
   CREATE INDEX grants_ended ON grants (ended_at) WHERE ended_at IS NOT NULL AND NOT tokens_collected;`,
  `ALTER TABLE provider_session ADD COLUMN refused_since bigint;
   CREATE TABLE provider_renewal (
     issuer text COLLATE "C" PRIMARY KEY, renewed_at bigint NOT NULL
   ) WITH (fillfactor = 50);`,
  `ALTER TABLE grants ADD COLUMN last_tool text, ADD COLUMN two_addresses_at bigint,
     ADD COLUMN two_addresses_first text, ADD COLUMN two_addresses_other text;`,
]

// An arbitrary lock number that no other program takes: the letters "drawbr".
const lockNumber = 0x64_72_61_77_62_72
const oldestServer = 150_000

/**
 * Brings the database to the newest schema, in one transaction that only one instance at a time is in. A database that
 * has it is only read. Throws {@link DatabaseRefusedError} for one that a newer Drawbridge has written, an old server and an encoding but UTF-8;
 * then nothing has changed.
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
    // Made, not looked for: a connection may have cached that it does not exist.
    await client.query('CREATE TABLE IF NOT EXISTS drawbridge_schema (version integer NOT NULL)')
    const version = await readVersion(client, migrations)
    for (const migration of migrations.slice(version)) await client.query(migration)
    await client.query(
      `DELETE FROM drawbridge_schema; INSERT INTO drawbridge_schema (version) VALUES (${migrations.length})`,
    )
    await client.query('COMMIT')
  } catch (error) {
    // When the connection is gone, so is the transaction.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Whether there is a schema already; throws for a server or a database that cannot hold one. */
async function checkServer(client: Pick<ClientBase, 'query'>): Promise<boolean> {
  const { rows } = await client.query<{ made: string | null; encoding: string; server: string }>(
    `SELECT to_regclass('drawbridge_schema')::text AS made, current_setting('server_encoding') AS encoding,
       current_setting('server_version_num') AS server`,
  )
  const { made = null, encoding = '', server = '0' } = rows[0] ?? {}
  if (Number(server) < oldestServer) throw new DatabaseRefusedError('PostgreSQL 15 or newer is needed.')
  if (encoding !== 'UTF8') {
    throw new DatabaseRefusedError(`The database has the encoding ${encoding}; UTF8 is needed.`)
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
