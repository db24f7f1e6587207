import { type Checks, fail, ok } from '@drawbridge/shared/terminal/check.ts'
import { storeName } from '../../config/store-address.ts'
import { readPostgresFailure } from '../../store/postgres/error.ts'
import { readPostgresSchema } from '../../store/postgres/postgres-schema.ts'
import { parsePostgresUrl } from '../../store/postgres/url.ts'

export interface PostgresFacts {
  url: string
  server: string
  synchronousCommit: string
  isStandby: boolean
  /** 0 without a schema of ours. */
  schema: number
}

/**
 * Queries the database at `url` on one connection, without changing anything. Rejects with a message without the password, also if this
 * version cannot use the database.
 */
export async function askPostgres(url: string): Promise<PostgresFacts> {
  const { Client } = await import('pg')
  const client = new Client(parsePostgresUrl(url).pool)
  // A broken connection also rejects the query.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN READ ONLY')
    const schema = await readPostgresSchema(client)
    const { rows } = await client.query<Omit<PostgresFacts, 'url' | 'schema'>>(
      `SELECT current_setting('server_version') AS server, current_setting('synchronous_commit') AS "synchronousCommit",
         pg_is_in_recovery() AS "isStandby"`,
    )
    return { ...rows[0]!, url, schema }
  } catch (error) {
    throw readPostgresFailure(error, decodeURIComponent(new URL(url).password)).cause
  } finally {
    await client.end().catch(() => {})
  }
}

/** Checks that the database can be used, and that commits survive a crash. */
export const postgresChecks: Checks<PostgresFacts> = {
  store({ url, server, isStandby }) {
    const where = storeName({ kind: 'postgres', url })
    return isStandby
      ? fail(`${where} is a standby, which cannot be written.`, 'Set the address of the primary.')
      : ok(`${where} answers, PostgreSQL ${server}.`)
  },
  'store-durability': ({ synchronousCommit }) =>
    synchronousCommit === 'off'
      ? fail(
          'synchronous_commit is off: a crash can lose refresh tokens that are in use, which ends those connections.',
          'ALTER DATABASE ... SET synchronous_commit = on',
        )
      : ok(`synchronous_commit is ${synchronousCommit}.`),
}
