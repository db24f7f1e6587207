import { storeName } from '../../config/store-address.ts'
import { readPostgresFailure } from '../../store/postgres/error.ts'
import { postgresMigrations } from '../../store/postgres/schema.ts'
import { parsePostgresUrl } from '../../store/postgres/url.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import { checkSchema } from './schema-check.ts'

const oldestServer = 150_000
const fewConnections = 10

/** What a Postgres database says about itself. */
export interface PostgresFacts {
  server: string
  serverNumber: number
  encoding: string
  synchronousCommit: string
  isStandby: boolean
  connections: { used: number; most: number }
  /** 0 when there is no schema of ours. */
  schema: number
}

/** Asks the database at `url`, on one connection and without changing anything. Rejects with a text without password. */
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

/** Whether the database can be used, and keeps what it said it has kept. */
export function checkPostgres(facts: PostgresFacts, url: string): Finding[] {
  const name = 'store'
  const where = storeName({ kind: 'postgres', url })
  if (facts.serverNumber < oldestServer) {
    return [fail(name, `${where} is PostgreSQL ${facts.server}.`, 'PostgreSQL 15 or newer is needed.')]
  }
  if (facts.encoding !== 'UTF8') {
    return [
      fail(name, `${where} has the encoding ${facts.encoding}.`, 'Make a database with the encoding UTF8.'),
    ]
  }
  if (facts.isStandby) {
    return [fail(name, `${where} is a standby, which cannot be written.`, 'Give the address of the primary.')]
  }
  return [
    ok(name, `${where} answers, PostgreSQL ${facts.server}.`),
    checkSchema(facts.schema, postgresMigrations.length),
    checkDurability(facts),
    checkConnections(facts),
  ]
}

function checkDurability({ synchronousCommit }: PostgresFacts): Finding {
  const name = 'store-durability'
  return synchronousCommit === 'off'
    ? fail(
        name,
        'synchronous_commit is off: after a crash the database has forgotten refresh tokens that are in use, and those connections end.',
        'ALTER DATABASE ... SET synchronous_commit = on',
      )
    : ok(name, `synchronous_commit is ${synchronousCommit}.`)
}

function checkConnections({ connections: { used, most } }: PostgresFacts): Finding {
  const name = 'store-connections'
  const left = most - used
  const text = `${used} of ${most} connections are in use`
  return left < fewConnections
    ? warn(
        name,
        `${text}; each server takes up to 10.`,
        'Raise max_connections, add pool_max=N to the address, or put a pooler in between (pooler=transaction).',
      )
    : ok(name, `${text}.`)
}
