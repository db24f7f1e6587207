import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import { storeName } from '../../config/store-address.ts'
import { readPostgresFailure } from '../../store/postgres/error.ts'
import { parsePostgresUrl } from '../../store/postgres/url.ts'

const oldestServer = 150_000
const fewConnections = 10

export interface PostgresFacts {
  url: string
  server: string
  serverNumber: number
  encoding: string
  synchronousCommit: string
  isStandby: boolean
  maxConnections: number
  usedConnections: number
  /** 0 without a schema of ours. */
  schema: number
}

/** Queries the database at `url` on one connection, without changing anything. Rejects with a message without the password. */
export async function askPostgres(url: string): Promise<PostgresFacts> {
  const { Client } = await import('pg')
  const client = new Client(parsePostgresUrl(url).pool)
  // A broken connection also rejects the query.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN READ ONLY')
    const { rows } = await client.query<Omit<PostgresFacts, 'url' | 'schema'> & { isMade: boolean }>(
      `SELECT current_setting('server_version') AS server, current_setting('server_version_num')::int AS "serverNumber",
         current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS "synchronousCommit",
         current_setting('max_connections')::int AS "maxConnections", pg_is_in_recovery() AS "isStandby",
         (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS "usedConnections",
         to_regclass('drawbridge_schema') IS NOT NULL AS "isMade"`,
    )
    const { isMade, ...facts } = rows[0]!
    if (!isMade) return { ...facts, url, schema: 0 }
    const versions = await client.query<{ version: number }>('SELECT version FROM drawbridge_schema')
    return { ...facts, url, schema: versions.rows[0]?.version ?? 0 }
  } catch (error) {
    throw readPostgresFailure(error, decodeURIComponent(new URL(url).password)).cause
  } finally {
    await client.end().catch(() => {})
  }
}

/** Returns why the database cannot be used at all, if so. */
export function unusableReason(facts: PostgresFacts): Outcome | undefined {
  const { url, serverNumber, server, encoding, isStandby } = facts
  const where = storeName({ kind: 'postgres', url })
  if (serverNumber < oldestServer)
    return fail(`${where} is PostgreSQL ${server}.`, 'Use PostgreSQL 15 or newer.')
  if (encoding !== 'UTF8')
    return fail(`${where} has the encoding ${encoding}.`, 'Create a database with the encoding UTF8.')
  if (!isStandby) return undefined
  return fail(`${where} is a standby, which cannot be written.`, 'Set the address of the primary.')
}

/** Checks that the database can be used, and that commits survive a crash. */
export const postgresChecks: Checks<PostgresFacts> = {
  store: (facts) =>
    unusableReason(facts) ??
    ok(`${storeName({ kind: 'postgres', url: facts.url })} answers, PostgreSQL ${facts.server}.`),
  'store-durability': ({ synchronousCommit }) =>
    synchronousCommit === 'off'
      ? fail(
          'synchronous_commit is off: a crash can lose refresh tokens that are in use, which ends those connections.',
          'ALTER DATABASE ... SET synchronous_commit = on',
        )
      : ok(`synchronous_commit is ${synchronousCommit}.`),
  'store-connections': ({ usedConnections: used, maxConnections: max }) => {
    const text = `${used} of ${max} connections are in use`
    return max - used < fewConnections
      ? warn(
          `${text}; each server uses up to 10.`,
          'Raise max_connections, add pool_max=N to the address, or put a pooler in between (pooler=transaction).',
        )
      : ok(`${text}.`)
  },
}
