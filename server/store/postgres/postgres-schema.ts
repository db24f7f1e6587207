import type { ClientBase } from 'pg'
import { commonTables } from '../sql/schema.ts'
import { DatabaseRefusedError } from './error.ts'

/**
 * Numbered migrations: index + 1 is the version of a database after it. Append only. Instances of the previous version keep running
 * during a migration, so it may add what they do not know but not remove what they use.
 *
 * Keys compare byte by byte (`COLLATE "C"`): faster, and an update of the system's collations cannot break an index. Refresh tokens
 * and sessions change in place, so their pages keep room for that; no index contains frequently changing columns. In an empty table
 * any index that has a statement's column seems as good as the key, so the indexes on the owner of codes and grants use expressions.
 */
export const postgresMigrations: readonly string[] = [
  `${commonTables({
    key: 'text COLLATE "C"',
    integer: 'bigint',
    boolean: 'boolean',
    number: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    grantKey: 'id text COLLATE "C" PRIMARY KEY, tokens_collected boolean NOT NULL DEFAULT false',
    options: ({ fill = 100, large = false } = {}) =>
      `WITH (fillfactor = ${fill}${large ? ', autovacuum_vacuum_scale_factor = 0.05' : ''})`,
  })}
   ALTER TABLE provider_session ALTER COLUMN sealed SET STORAGE EXTERNAL;
   CREATE INDEX client_unused ON client (created_at)
     WHERE kind = 'registered' AND NOT kept AND expires_at IS NOT NULL;
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
   CREATE INDEX refresh_token_grant ON refresh_token (grant_id);`,
]

const tables = [...postgresMigrations.join('').matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name)
const placeOfTable = new RegExp(String.raw`(\b(?:FROM|JOIN|INTO|UPDATE)|,)\s+(${tables.join('|')})\b`, 'g')

/**
 * Returns `statement` with our tables in `schema`. Behind a pooler in transaction mode no `search_path` outlives a statement, so each has
 * to name it.
 */
export function inSchema(schema: string, statement: string): string {
  return statement.replaceAll(placeOfTable, `$1 "${schema}".$2`)
}

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
  schema?: string,
): Promise<void> {
  const isThere = await checkServer(client, schema)
  if (isThere && (await readVersion(client, migrations, schema)) === migrations.length) return
  await client.query('BEGIN')
  try {
    // A large table takes time, for the migrating server and for those that wait.
    await client.query(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'`)
    await client.query(`SELECT pg_advisory_xact_lock(${lockNumber})`)
    if (schema !== undefined) {
      // Looked up first: an account that may not create a schema can be given one.
      const { rows } = await client.query(`SELECT 1 WHERE to_regnamespace('${schema}') IS NOT NULL`)
      if (rows.length === 0) await client.query(`CREATE SCHEMA "${schema}"`)
      await client.query(`SET LOCAL search_path = "${schema}"`)
    }
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

/** Returns the version of the schema, 0 without one. Throws {@link DatabaseRefusedError} for a database that cannot be used. */
export async function readPostgresSchema(
  client: Pick<ClientBase, 'query'>,
  schema: string | undefined,
): Promise<number> {
  return (await checkServer(client, schema)) ? readVersion(client, postgresMigrations, schema) : 0
}

function versionTable(schema: string | undefined): string {
  return schema === undefined ? 'drawbridge_schema' : `"${schema}".drawbridge_schema`
}

/** Returns whether a schema exists; throws for an unsuitable server or database. */
async function checkServer(client: Pick<ClientBase, 'query'>, schema: string | undefined): Promise<boolean> {
  const { rows } = await client.query<{ made: string | null; encoding: string; server: string }>(
    `SELECT to_regclass('${versionTable(schema)}')::text AS made, current_setting('server_encoding') AS encoding,
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
  schema?: string,
): Promise<number> {
  const { rows } = await client.query<{ version: number }>(`SELECT version FROM ${versionTable(schema)}`)
  const version = rows[0]?.version ?? 0
  if (version > migrations.length) {
    throw new DatabaseRefusedError(
      `The database has schema ${version}, this version knows up to ${migrations.length}. Start the newer Drawbridge, or use another database.`,
    )
  }
  return version
}
