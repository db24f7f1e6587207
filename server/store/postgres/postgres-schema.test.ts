import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Store } from '../../core/store.ts'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { migratePostgres, postgresMigrations } from './postgres-schema.ts'
import { openPostgresStore } from './postgres.ts'

let server: PostgresServer
let url: string
const open: { close(): Promise<void> }[] = []
beforeAll(async () => {
  server = await startPostgres()
})
beforeEach(async () => {
  url = await server.createDatabase()
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()))
})
afterAll(() => server.close())

function openStore(address = url): Store {
  const store = openPostgresStore(address)
  open.push(store)
  return store
}

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  open.push({ close: () => client.end() })
  return client
}

const version = () => server.query(url, 'SELECT version FROM drawbridge_schema')
const tables = async (): Promise<unknown[]> =>
  (
    await server.query(
      url,
      `SELECT schemaname || '.' || tablename AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
    )
  ).map(({ name }) => name)

it('eight instances at once on an empty database make it once', async () => {
  const stores = Array.from({ length: 8 }, () => openStore())
  await Promise.all(stores.map((store) => store.prepare()))
  expect(await version()).toEqual([{ version: postgresMigrations.length }])
  await Promise.all(stores.map((store, index) => addGrant(store, grantSample(`${index}`))))
})

it('preparing again changes nothing, not even on a database that is read-only by now', async () => {
  await openStore().prepare()
  const before = await server.query(url, 'SELECT xmin, version FROM drawbridge_schema')
  await server.query(
    url,
    'ALTER DATABASE CURRENT_DATABASE SET default_transaction_read_only = on'.replace(
      'CURRENT_DATABASE',
      new URL(url).pathname.slice(1),
    ),
  )
  await openStore().prepare()
  expect(await server.query(url, 'SELECT xmin, version FROM drawbridge_schema')).toEqual(before)
})

it('a newer schema is refused and left alone', async () => {
  await server.query(
    url,
    'CREATE TABLE drawbridge_schema (version integer NOT NULL); INSERT INTO drawbridge_schema VALUES (99)',
  )
  await expect(openStore().prepare()).rejects.toThrow(
    `schema 99, this version knows up to ${postgresMigrations.length}`,
  )
  expect(await tables()).toEqual(['public.drawbridge_schema'])
  expect(await version()).toEqual([{ version: 99 }])
})

it('an older schema is brought up step by step, with what is in it', async () => {
  const store = openStore()
  const { tokens, grant } = await addGrant(store, grantSample('a'))
  const steps = [
    ...postgresMigrations,
    'ALTER TABLE grants ADD COLUMN label text',
    'UPDATE grants SET label = id; CREATE INDEX grants_label ON grants (label)',
  ]
  const client = await connect()
  await migratePostgres(client, steps)
  expect(await version()).toEqual([{ version: steps.length }])
  expect(await server.query(url, 'SELECT label FROM grants')).toEqual([{ label: grant.id }])
  // The instance still running the previous version is not disturbed.
  expect(await store.findAccessToken(tokens.accessHash, start)).toMatchObject({ grant })
  await addGrant(store, grantSample('b'))
})

it('a step that fails leaves everything as it was, and can be tried again', async () => {
  const client = await connect()
  const broken = [...postgresMigrations, 'CREATE TABLE half (x int); SELECT 1 / 0']
  await expect(migratePostgres(client, broken)).rejects.toThrow(/division by zero/)
  expect(await tables()).toEqual([])
  await migratePostgres(client)
  expect(await version()).toEqual([{ version: postgresMigrations.length }])
})

it('a second instance waits for the first, longer than a statement may take, and has nothing to do then', async () => {
  const steps = [...postgresMigrations, 'CREATE TABLE once (x int); SELECT pg_sleep(0.4)']
  const clients = [await connect(), await connect()]
  for (const client of clients) await client.query('SET statement_timeout = 200')
  await Promise.all(clients.map((client) => migratePostgres(client, steps)))
  expect(await version()).toEqual([{ version: steps.length }])
})

it('the tables are in the first schema of the search path', async () => {
  await server.query(url, 'CREATE SCHEMA apart')
  const store = openStore(`${url}?options=${encodeURIComponent('-c search_path=apart')}`)
  await addGrant(store, grantSample('a'))
  expect(await tables()).toContain('apart.grants')
  expect((await tables()).filter((name) => String(name).startsWith('public.'))).toEqual([])
})

it('the schema of the address is made with the tables, by one of eight instances, and nothing is anywhere else', async () => {
  const stores = Array.from({ length: 8 }, () => openStore(`${url}?schema=user`))
  await Promise.all(stores.map((store) => store.prepare()))
  await Promise.all(stores.map((store, index) => addGrant(store, grantSample(`${index}`))))
  expect(await server.query(url, 'SELECT count(*)::int FROM "user".grants')).toEqual([{ count: 8 }])
  expect((await tables()).filter((name) => !String(name).startsWith('user.'))).toEqual([])
})

it('two schemas of one database have separate tables, beside tables of the same names', async () => {
  await server.query(url, 'CREATE TABLE grants (of_the_app text); CREATE TABLE client (of_the_app text)')
  const [one, other] = ['one', 'other'].map((schema) => openStore(`${url}?schema=${schema}`))
  const { tokens } = await addGrant(one!, grantSample('a'))
  expect(await one!.findAccessToken(tokens.accessHash, start)).toBeDefined()
  expect(await other!.findAccessToken(tokens.accessHash, start)).toBeUndefined()
  expect(await server.query(url, 'SELECT count(*)::int FROM public.grants')).toEqual([{ count: 0 }])
})

it('an account that may make no schema can use one that it was given, and otherwise reads what is missing', async () => {
  await server.query(url, `CREATE ROLE guest LOGIN PASSWORD 'guest'`)
  const guest = `${url.replace(/\/\/.*@/, '//guest:guest@')}?schema=given`
  await expect(openStore(guest).prepare()).rejects.toThrow(/permission denied for database/)
  await server.query(url, 'CREATE SCHEMA given AUTHORIZATION guest')
  await addGrant(openStore(guest), grantSample('a'))
})

it('a database in another encoding is refused: it could not hold every name', async () => {
  await server.query(url, `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
  await expect(openStore(server.url('latin')).prepare()).rejects.toThrow(/encoding LATIN1; UTF8 is required/)
})

it('a user is found by an address in a database whose own rules lower other letters than those of ASCII, too', async () => {
  const rules = `ENCODING 'UTF8' LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' TEMPLATE template0`
  await server.query(url, `CREATE DATABASE lowering ${rules}`)
  const store = openStore(server.url('lowering'))
  const { user } = grantSample('a').grant
  await addGrant(store, grantSample('a', { user: { ...user, email: 'ÄNN@Example.com' } }))
  expect(await store.findUsers('Änn@example.com')).toEqual([user.id])
})

it('an older server than it was tried with is refused, before anything is done there', async () => {
  const asked: unknown[] = []
  const query = (sql: unknown) => {
    asked.push(sql)
    return Promise.resolve({ rows: [{ made: null, encoding: 'UTF8', server: '140020' }] })
  }
  await expect(migratePostgres({ query: query as Client['query'] })).rejects.toThrow(/PostgreSQL 15 or newer/)
  expect(asked).toHaveLength(1)
})

it('an account that may not make tables reads so; once they exist it needs no such right', async () => {
  await server.query(url, `CREATE ROLE weak LOGIN PASSWORD 'weak'`)
  const weak = url.replace(/\/\/.*@/, '//weak:weak@')
  await expect(openStore(weak).prepare()).rejects.toThrow(/permission denied for schema public/)
  await openStore().prepare()
  await server.query(url, 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO weak')
  await addGrant(openStore(weak), grantSample('a'))
})
