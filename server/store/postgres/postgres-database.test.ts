import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../core/store.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { addGrant, grantSample, race, start } from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { startTcpProxy, type TcpProxy } from '../../../tests/support/server/tcp-proxy.ts'
import { openPostgresStore } from './postgres.ts'
import { clientSample } from '../../../tests/support/store-contract/clients.ts'

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
  for (const each of open.splice(0).toReversed()) await each.close()
})
afterAll(() => server.close())

function openStore(address = url): Store {
  const store = openPostgresStore(address)
  open.push(store)
  return store
}

async function throughProxy(parameters = ''): Promise<{ store: Store; proxy: TcpProxy }> {
  const proxy = await startTcpProxy(Number(new URL(url).port))
  open.push(proxy)
  const address = new URL(url)
  address.port = String(proxy.port)
  return { store: openStore(address.href + parameters), proxy }
}

/** Returns the error it rejects with, and after how many milliseconds. */
async function failureOf(work: Promise<unknown>): Promise<{ error: Error; after: number }> {
  const began = performance.now()
  try {
    await work
  } catch (error) {
    return { error: error as Error, after: performance.now() - began }
  }
  throw new Error('It did not fail.')
}

/** Locks a table for a while; resolves once it is locked. */
async function lockTable(table: string, seconds: number): Promise<{ over: Promise<unknown> }> {
  const over = server.query(url, `BEGIN; LOCK TABLE ${table}; SELECT pg_sleep(${seconds}); COMMIT`)
  await expect
    .poll(() => server.query(url, `SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted`))
    .not.toEqual([])
  return { over }
}

const password = (): string => decodeURIComponent(new URL(url).password)
const alter = (setting: string): Promise<unknown> =>
  server.query(server.url('postgres'), `ALTER DATABASE ${new URL(url).pathname.slice(1)} ${setting}`)

describe('a database that cannot be reached', () => {
  it.each([
    ['nobody listens', () => 'postgres://u:hunter2@127.0.0.1:1/x', /ECONNREFUSED/],
    ['there is no such host', () => 'postgres://u:hunter2@db.invalid/x', /ENOTFOUND|EAI_AGAIN/],
    ['it has no TLS, which the address asks for', () => `${url}?sslmode=require`, /does not support SSL/],
  ])('a database is unavailable for every operation if %s', async (_what, address, reason) => {
    const store = openStore(address())
    for (const work of [store.prepare(), store.findClient('x'), store.addClient(clientSample)]) {
      const { error } = await failureOf(work)
      expect(error).toBeInstanceOf(StoreUnavailableError)
      expect(error.message).toMatch(reason)
      expect(inspect(error)).not.toMatch(/hunter2|open\/sesame/)
    }
  })

  it('a database that accepts and says nothing is given up after three seconds', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const store = openStore(`postgres://u:hunter2@127.0.0.1:${(silent.address() as AddressInfo).port}/x`)
    const { error, after } = await failureOf(store.prepare())
    silent.close()
    expect(error).toBeInstanceOf(StoreUnavailableError)
    expect(after).toBeGreaterThan(2900)
    expect(after).toBeLessThan(9000)
  })

  it('a preparation that failed is tried again by the next call', async () => {
    const away = await startPostgres()
    open.push(away)
    const store = openStore(await away.createDatabase())
    await away.stop()
    expect((await failureOf(store.prepare())).error).toBeInstanceOf(StoreUnavailableError)
    await away.start()
    await store.prepare()
    expect(await store.findClient('x')).toBeUndefined()
  })

  it.each([
    ['a wrong password', () => url.replace(/:[^:@]*@/, ':hunter2@'), /password authentication failed/],
    ['an unknown database', () => server.url('nowhere'), /database "nowhere" does not exist/],
  ])(
    '%s is an error that waiting does not mend, and it does not say the password',
    async (_what, address, reason) => {
      const { error } = await failureOf(openStore(address()).prepare())
      expect(error).not.toBeInstanceOf(StoreUnavailableError)
      expect(error.message).toMatch(reason)
      expect(inspect(error)).not.toContain('hunter2')
      expect(inspect(error)).not.toContain(password())
    },
  )

  it('a refusal while serving is an outage, also before the first success', async () => {
    const store = openStore(server.url('nowhere'))
    for (const work of [store.findClient('x'), store.addClient(clientSample)]) {
      const { error } = await failureOf(work)
      expect(error).toBeInstanceOf(StoreUnavailableError)
      expect(error.message).toContain('database "nowhere" does not exist')
    }
    expect((await failureOf(store.prepare())).error).not.toBeInstanceOf(StoreUnavailableError)
  })
})

describe('a connection that breaks', () => {
  it('a read is repeated on a new one', async () => {
    const { store, proxy } = await throughProxy()
    await store.addClient(clientSample)
    proxy.goStale()
    expect(await store.findClient(clientSample.id)).toEqual(clientSample)
  })

  it('a write is not repeated on a new connection, as it may have happened; the next one has a new connection', async () => {
    const { store, proxy } = await throughProxy()
    await race((index) => store.findClient(`client ${index}`))
    expect(proxy.connections()).toBe(10)
    proxy.goStale()
    const { error } = await failureOf(store.addClient(clientSample))
    expect(error).toBeInstanceOf(StoreUnavailableError)
    for (let index = 0; index < 10; index += 1) {
      await store.addClient({ ...clientSample, id: `client ${index}` })
    }
  })

  it('idle connections that the server ends do no harm', async () => {
    const store = openStore()
    await race((index) => store.findClient(`client ${index}`))
    for (let round = 0; round < 3; round += 1) {
      await server.query(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'drawbridge'`,
      )
      await store.addClient({ ...clientSample, id: `client ${round}` }).catch((error: unknown) => {
        // Only if it was sent before the end of the connection was noticed.
        expect(error).toBeInstanceOf(StoreUnavailableError)
      })
      expect(await store.findClient('nothing')).toBeUndefined()
    }
  })

  it('silence in the middle of a statement ends after six seconds, a lock that is not released after five', async () => {
    const { store, proxy } = await throughProxy()
    await store.addClient(clientSample)
    const locked = openStore()
    await locked.prepare()
    const lock = await lockTable('grants', 7)
    proxy.freeze()
    const [silence, wait] = await Promise.all([
      failureOf(store.findClient(clientSample.id)),
      failureOf(locked.endGrant('nothing', 'code_reuse', start)),
    ])
    expect(silence.error).toBeInstanceOf(StoreUnavailableError)
    expect(silence.after).toBeLessThan(7500)
    expect(wait.error).toBeInstanceOf(StoreUnavailableError)
    expect(wait.error.message).toContain('statement timeout')
    expect(wait.after).toBeLessThan(6500)
    proxy.thaw()
    expect(await store.findClient(clientSample.id)).toEqual(clientSample)
    await lock.over
  })
})

describe('statements that fail', () => {
  /** Makes every insertion of a client fail `times` times with `state`. */
  async function failInsertions(state: string, times: number): Promise<void> {
    await server.query(
      url,
      `CREATE SEQUENCE failures;
       CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF nextval('failures') <= ${times} THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = '${state}'; END IF;
         RETURN NEW; END $$;
       CREATE TRIGGER fail BEFORE INSERT ON client FOR EACH ROW EXECUTE FUNCTION fail()`,
    )
  }

  it('a conflict is tried again twice, and not for ever', async () => {
    const store = openStore()
    await store.prepare()
    await failInsertions('40001', 5)
    expect((await failureOf(store.addClient(clientSample))).error).toBeInstanceOf(StoreUnavailableError)
    expect(await server.query(url, 'SELECT last_value::int AS tries FROM failures')).toEqual([{ tries: 3 }])
    await store.addClient(clientSample)
    expect(await store.findClient(clientSample.id)).toEqual(clientSample)
  })

  it('a full disk is an outage, and not tried again', async () => {
    const store = openStore()
    await store.prepare()
    await failInsertions('53100', 1)
    expect((await failureOf(store.addClient(clientSample))).error).toBeInstanceOf(StoreUnavailableError)
    await store.addClient(clientSample)
  })

  it('our own mistake is not reported as an outage, or with contents of the row', async () => {
    const store = openStore()
    await store.addClient(clientSample)
    const { error } = await failureOf(store.addClient(clientSample))
    expect(error).not.toBeInstanceOf(StoreUnavailableError)
    expect(error.message).toContain('duplicate key value')
    expect(inspect(error)).not.toContain(clientSample.id)
  })

  it('a read-only database answers, and is unavailable for changes', async () => {
    await alter('SET default_transaction_read_only = on')
    // One that is empty cannot be prepared.
    expect((await failureOf(openStore().prepare())).error).toBeInstanceOf(StoreUnavailableError)
    await alter('RESET default_transaction_read_only')
    const { tokens } = await addGrant(openStore(), grantSample('a'))
    await alter('SET default_transaction_read_only = on')
    const store = openStore()
    expect(await store.findAccessToken(tokens.accessHash, start)).toBeDefined()
    const { error } = await failureOf(store.addClient(clientSample))
    expect(error).toBeInstanceOf(StoreUnavailableError)
    expect(error.message).toContain('read-only transaction')
    await alter('RESET default_transaction_read_only')
  })
})

describe('connections', () => {
  const connections = async (): Promise<number> =>
    (
      await server.query(
        url,
        `SELECT pid FROM pg_stat_activity WHERE application_name = 'drawbridge' AND datname = current_database()`,
      )
    ).length

  it('connections are opened at the first use, up to pool_max, and none are left after closing', async () => {
    const store = openStore(`${url}?pool_max=3`)
    expect(await connections()).toBe(0)
    await race((index) => store.findClient(`client ${index}`))
    expect(await connections()).toBe(3)
    await store.close()
    await expect.poll(connections).toBe(0)
  })

  it('closing a database waits for running operations, may be repeated, and makes it unusable', async () => {
    const store = openStore()
    await store.prepare()
    const lock = await lockTable('client', 0.3)
    const added = store.addClient(clientSample)
    await expect.poll(() => server.query(url, `SELECT FROM pg_locks WHERE NOT granted`)).not.toEqual([])
    await Promise.all([store.close(), store.close()])
    await added
    await lock.over
    for (const late of [store.findClient('x'), store.addClient(clientSample)]) {
      const { error } = await failureOf(late)
      expect(error).toBeInstanceOf(StoreUnavailableError)
      expect(error.message).toContain('closed')
    }
  })

  it('no statement is prepared under a name for a pooler in transaction mode', async () => {
    const named = openStore(`${url}?pool_max=1&options=-c%20log_statement%3Dnone`)
    await addGrant(named, grantSample('named'))
    const store = openStore(`${url}?pooler=transaction`)
    await addGrant(store, grantSample('a'))
    expect(await store.findProviderSession('grant named')).toBeDefined()
  })
})
