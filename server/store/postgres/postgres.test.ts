import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import type { Store } from '../../core/store.ts'
import { openPostgresStore } from './postgres.ts'
import { describeStore } from '../../../tests/support/store-contract/store-contract.ts'

let server: PostgresServer
let url: string
let client: Client
const instances: Store[] = []
let emptyAll: () => Promise<unknown>
beforeAll(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  const store = openPostgresStore(url)
  await store.prepare()
  await store.close()
  const tables = await server.query(
    url,
    `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'drawbridge_schema'`,
  )
  const statements = tables.map(({ tablename }) => `DELETE FROM ${String(tablename)}`).join(';')
  client = new Client({ connectionString: url })
  await client.connect()
  emptyAll = () => client.query(statements)
})
afterAll(async () => {
  await client?.end()
  for (const store of instances) await store.close()
  await server?.close()
})

// One database for all, and as a rule two instances: opening them takes longer than most of these tests.
describeStore('postgres', async () => {
  await emptyAll()
  const [store, second] = [kept(0), kept(1)]
  return { store, openSecond: async () => second, reopen: async () => openPostgresStore(url) }
})

function kept(index: 0 | 1): Store {
  const store = (instances[index] ??= openPostgresStore(url))
  return { ...store, close: async () => {} }
}
