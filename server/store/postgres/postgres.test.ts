import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { openPostgresStore } from './postgres.ts'
import { describeStore } from '../../../tests/support/store-contract/store-contract.ts'

let server: PostgresServer
let url: string
let client: Client
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
  await server?.close()
})

// One database for all: creating one takes longer than most of these tests.
describeStore('postgres', async () => {
  await emptyAll()
  const store = openPostgresStore(url)
  return {
    store,
    openSecond: async () => openPostgresStore(url),
    async reopen() {
      await store.close()
      return openPostgresStore(url)
    },
  }
})
