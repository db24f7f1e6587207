import { Client } from 'pg'
import { afterAll, beforeAll, describe } from 'vitest'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../../../tests/support/server/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import type { Store } from '../../core/store.ts'
import { openPostgresStore } from './postgres.ts'
import { describeStore } from '../../../tests/support/store-contract/store-contract.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.close())

/** Runs the contract on one database: as a rule with two instances, since opening them takes longer than most of these tests. */
function describePostgres(name: string, schema: string, addressOf: (url: string) => Promise<string>): void {
  let address: string
  let client: Client
  const instances: Store[] = []
  let emptyAll: () => Promise<unknown>
  beforeAll(async () => {
    const url = await server.createDatabase()
    address = await addressOf(url)
    const store = openPostgresStore(address)
    await store.prepare()
    await store.close()
    const tables = await server.query(
      url,
      `SELECT schemaname || '.' || tablename AS name FROM pg_tables
       WHERE schemaname = '${schema}' AND tablename <> 'drawbridge_schema'`,
    )
    const statements = tables.map((row) => `DELETE FROM ${String(row['name'])}`).join(';')
    client = new Client({ connectionString: url })
    await client.connect()
    emptyAll = () => client.query(statements)
  })
  afterAll(async () => {
    await client?.end()
    for (const store of instances) await store.close()
  })

  describeStore(name, async () => {
    await emptyAll()
    const [store, second] = [kept(0), kept(1)]
    return { store, openSecond: async () => second, reopen: async () => openPostgresStore(address) }
  })

  function kept(index: 0 | 1): Store {
    const store = (instances[index] ??= openPostgresStore(address))
    return { ...store, close: async () => {} }
  }
}

describePostgres('postgres', 'public', async (url) => url)

describe.skipIf(!hasPgbouncer())('through PgBouncer in transaction mode', () => {
  let pooler: Pgbouncer
  afterAll(() => pooler?.close())

  // Nothing finds a table that it does not name in full: the schema of the search_path has none.
  describePostgres('postgres in a schema of its own behind a pooler', 'apart', async (url) => {
    pooler = await startPgbouncer(url)
    return `${pooler.url(url)}&schema=apart`
  })
})
