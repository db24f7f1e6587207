import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../core/store.ts'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { migratePostgres, postgresMigrations } from './schema.ts'
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

describe('postgres schema', () => {
  it('eight instances at once on an empty database make it once', async () => {
    const stores = Array.from({ length: 8 }, () => openStore())
    await Promise.all(stores.map((store) => store.prepare()))
    expect(await version()).toEqual([{ version: postgresMigrations.length }])
    await Promise.all(stores.map((store, index) => addGrant(store, grantSample(`${index}`))))
  })

  it('is made by the first operation too', async () => {
    expect(await openStore().findClient('nothing')).toBeUndefined()
    expect(await version()).toEqual([{ version: postgresMigrations.length }])
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
    // The instance that still runs the version before is not disturbed.
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

  it('who comes second waits for the first, longer than a statement may take, and has nothing to do then', async () => {
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

  it('a database in another encoding is refused: it could not hold every name', async () => {
    await server.query(url, `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
    await expect(openStore(server.url('latin')).prepare()).rejects.toThrow(/encoding LATIN1; UTF8 is needed/)
  })

  it('an older server than it was tried with is refused, before anything is done there', async () => {
    const asked: unknown[] = []
    const query = (sql: unknown) => {
      asked.push(sql)
      return Promise.resolve({ rows: [{ made: null, encoding: 'UTF8', server: '140020' }] })
    }
    await expect(migratePostgres({ query: query as Client['query'] })).rejects.toThrow(
      /PostgreSQL 15 or newer/,
    )
    expect(asked).toHaveLength(1)
  })

  it('an account that may not make tables is told so; once they are there it needs no such right', async () => {
    await server.query(url, `CREATE ROLE weak LOGIN PASSWORD 'weak'`)
    const weak = url.replace(/\/\/.*@/, '//weak:weak@')
    await expect(openStore(weak).prepare()).rejects.toThrow(/permission denied for schema public/)
    await openStore().prepare()
    await server.query(url, 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO weak')
    await addGrant(openStore(weak), grantSample('a'))
  })
})

describe('postgres schema, from version 1 to 2', () => {
  const insertOldClient = (id: string, createdAt = 0): string =>
    `INSERT INTO client (id, name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at)
     VALUES ('${id}', 'Old', NULL, '["http://127.0.0.1/"]', '["authorization_code"]', 'none', NULL, ${createdAt});`
  const insertOldGrant = (id: string, clientId: string, expiresAt: number): string =>
    `INSERT INTO grants (id, user_id, user_sub, client_id, resource, scope, created_at, expires_at)
     VALUES ('${id}', 'p#u', 'u', '${clientId}', 'r', 'mcp', 0, ${expiresAt});`
  const daySeconds = 86_400
  /** Later than the clock of whoever runs this. */
  const later = 4_000_000_000

  beforeEach(async () => {
    await migratePostgres(await connect(), postgresMigrations.slice(0, 1))
  })

  it('clients live on; those with grants end 90 days after the last of them and count as used', async () => {
    const ends = [later, later + 10 * daySeconds, start].map((end, index) =>
      insertOldGrant(`g${index}`, 'used', end),
    )
    await server.query(url, [insertOldClient('used'), insertOldClient('unused'), ...ends].join('\n'))
    const now = Math.floor(Date.now() / 1000)
    const store = openStore()
    expect(await store.findClient('used')).toStrictEqual({
      id: 'used',
      kind: 'registered',
      name: 'Old',
      uri: undefined,
      redirectUris: ['http://127.0.0.1/'],
      grantTypes: ['authorization_code'],
      scope: undefined,
      authMethod: 'none',
      secretHash: undefined,
      keys: undefined,
      managementHash: undefined,
      document: undefined,
      introspects: false,
      createdAt: 0,
      expiresAt: later + 100 * daySeconds,
    })
    const end = (await store.findClient('unused'))?.expiresAt ?? 0
    expect(end).toBeGreaterThanOrEqual(now + 90 * daySeconds)
    expect(end).toBeLessThan(now + 91 * daySeconds)
    expect(await store.trimClients(0, 10, now)).toBe(1)
    expect(await store.findClient('used')).toBeDefined()
  })

  it('what an instance of version 1 stores afterwards is understood, and has an end', async () => {
    await openStore().prepare()
    await server.query(url, insertOldClient('late') + insertOldGrant('late', 'late', later))
    const store = openStore()
    expect((await store.findClient('late'))?.expiresAt).toBeGreaterThan(Date.now() / 1000 + 89 * daySeconds)
    expect(await store.findGrant('late')).toMatchObject({ lastUse: undefined, end: undefined })
    expect(
      await store.endGrants({ userId: 'p#u' }, 'revoked_by_user', { now: start, limit: 9 }),
    ).toHaveLength(1)
  })

  it('what an instance of version 1 has prepared still works afterwards', async () => {
    await server.query(url, insertOldClient('a') + insertOldGrant('g', 'a', later))
    const old = await connect()
    const prepared = {
      name: 'select_client',
      text: 'SELECT name, uri, redirect_uris FROM client WHERE id = $1',
      values: ['a'],
    }
    expect((await old.query(prepared)).rows).toHaveLength(1)
    await openStore().prepare()
    expect((await old.query(prepared)).rows).toEqual([
      { name: 'Old', uri: null, redirect_uris: '["http://127.0.0.1/"]' },
    ])
  })
})

describe('postgres schema, from version 5 to 6', () => {
  const recordOldUse = {
    name: 'record_grant_use',
    text: `UPDATE grants g SET last_used_at = $2, last_address = $3 WHERE id = $1`,
  }

  beforeEach(async () => {
    await migratePostgres(await connect(), postgresMigrations.slice(0, 5))
    await server.query(
      url,
      `INSERT INTO grants (id, user_id, user_sub, client_id, resource, scope, created_at, expires_at, last_used_at,
         last_address, replay_count, replayed_at, replay_first_address, replay_address)
       VALUES ('a', 'p#u', 'u', 'c', 'r', 'mcp', ${start}, ${start + 99}, ${start + 5}, '192.0.2.1', 2, ${start + 4},
         '192.0.2.2', '192.0.2.3')`,
    )
  })

  it('grants keep their last use and replays, and can be used with a tool and from two addresses', async () => {
    const store = openStore()
    const replays = { count: 2, lastAt: start + 4, addresses: ['192.0.2.2', '192.0.2.3'] }
    expect(await store.findGrant('a')).toMatchObject({
      lastUse: { usedAt: start + 5, address: '192.0.2.1', tool: undefined },
      twoAddresses: undefined,
      replays,
    })
    const lastUse = { usedAt: start + 6, address: '192.0.2.2', tool: 'list_notes' }
    const twoAddresses = { addresses: ['192.0.2.1', '192.0.2.2'], at: start + 6 } as const
    await store.recordGrantUses([{ grantId: 'a', ...lastUse, twoAddresses }])
    expect(await store.findGrant('a')).toMatchObject({ lastUse, twoAddresses, replays })
    expect(await version()).toEqual([{ version: postgresMigrations.length }])
  })

  it('what an instance of version 5 has prepared still works, and leaves the tool alone', async () => {
    const old = await connect()
    await old.query({ ...recordOldUse, values: ['a', start + 6, '192.0.2.1'] })
    const store = openStore()
    await store.recordGrantUses([
      { grantId: 'a', usedAt: start + 7, address: '192.0.2.1', tool: 'list_notes' },
    ])
    await old.query({ ...recordOldUse, values: ['a', start + 8, '192.0.2.9'] })
    expect((await store.findGrant('a'))?.lastUse).toEqual({
      usedAt: start + 8,
      address: '192.0.2.9',
      tool: 'list_notes',
    })
  })
})
