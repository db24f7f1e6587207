import { storeName } from '../../config/store-address.ts'
import { readPostgresFailure } from '../../store/postgres/error.ts'
import { postgresMigrations } from '../../store/postgres/schema.ts'
import { parsePostgresUrl } from '../../store/postgres/url.ts'
import { type Checks, fail, ok, type Outcome, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { checkSchema } from './schema-check.ts'

const oldestServer = 150_000
const fewConnections = 10

/** Facts that a Postgres database reports about itself. */
export interface PostgresFacts {
  url: string
  server: string
  serverNumber: number
  encoding: string
  synchronousCommit: string
  isStandby: boolean
  connections: { used: number; most: number }
  /** 0 without a schema of ours. */
  schema: number
}

/** Queries the database at `url` on one connection, without changing anything. Rejects with a message without the password. */
export async function askPostgres(url: string): Promise<PostgresFacts> {
  const { Client } = await import('pg')
  const password = decodeURIComponent(new URL(url).password)
  const client = new Client(parsePostgresUrl(url).pool)
  // A connection that breaks rejects the query too.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN READ ONLY')
    const { rows } = await client.query<Record<string, string | boolean | null>>(
      `SELECT current_setting('server_version') AS server, current_setting('server_version_num') AS number,
         current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS synchronous,
         current_setting('max_connections') AS most, pg_is_in_recovery() AS standby,
         (SELECT count(*)::text FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
         to_regclass('drawbridge_schema')::text AS made`,
    )
    const row = rows[0] ?? {}
    const versions =
      row['made'] === null
        ? []
        : (await client.query<{ version: number }>('SELECT version FROM drawbridge_schema')).rows
    return {
      url,
      server: String(row['server']),
      serverNumber: Number(row['number']),
      encoding: String(row['encoding']),
      synchronousCommit: String(row['synchronous']),
      isStandby: row['standby'] === true,
      connections: { used: Number(row['used']), most: Number(row['most']) },
      schema: versions[0]?.version ?? 0,
    }
  } catch (error) {
    throw readPostgresFailure(error, password).cause
  } finally {
    await client.end().catch(() => {})
  }
}

/** Applies a check to a usable database. */
const usable =
  (check: (facts: PostgresFacts) => Said): ((facts: PostgresFacts) => Said) =>
  (facts) =>
    unusable(facts) === undefined ? check(facts) : undefined

function unusable({ url, serverNumber, server, encoding, isStandby }: PostgresFacts): Outcome | undefined {
  const where = storeName({ kind: 'postgres', url })
  if (serverNumber < oldestServer)
    return fail(`${where} is PostgreSQL ${server}.`, 'PostgreSQL 15 or newer is needed.')
  if (encoding !== 'UTF8')
    return fail(`${where} has the encoding ${encoding}.`, 'Make a database with the encoding UTF8.')
  if (!isStandby) return undefined
  return fail(`${where} is a standby, which cannot be written.`, 'Give the address of the primary.')
}

/** Checks that the database can be used, and keeps what it reports as committed. */
export const postgresChecks: Checks<PostgresFacts> = {
  store: (facts) =>
    unusable(facts) ??
    ok(`${storeName({ kind: 'postgres', url: facts.url })} answers, PostgreSQL ${facts.server}.`),
  'store-schema': usable(({ schema }) => checkSchema(schema, postgresMigrations.length)),
  'store-durability': usable(({ synchronousCommit }) =>
    synchronousCommit === 'off'
      ? fail(
          'synchronous_commit is off: after a crash the database has forgotten refresh tokens that are in use, and those connections end.',
          'ALTER DATABASE ... SET synchronous_commit = on',
        )
      : ok(`synchronous_commit is ${synchronousCommit}.`),
  ),
  'store-connections': usable(({ connections: { used, most } }) => {
    const text = `${used} of ${most} connections are in use`
    return most - used < fewConnections
      ? warn(
          `${text}; each server takes up to 10.`,
          'Raise max_connections, add pool_max=N to the address, or put a pooler in between (pooler=transaction).',
        )
      : ok(`${text}.`)
  }),
}
