import { closeSync, openSync, writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, it, vi } from 'vitest'
import type { Store } from '../../core/store.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import {
  checkIntegrity,
  inspectDatabase,
  useDatabaseFiles,
} from '../../../tests/support/server/database-file.ts'
import {
  addGrant,
  grantSample,
  race,
  rotationTerms,
  start,
  successorSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import { openSqliteStore } from './sqlite.ts'

const newFile = useDatabaseFiles()
afterEach(() => void vi.restoreAllMocks())

/** Opens the store and its connection, to make the connection really fail. */
function openWithConnection(path: string): { store: Store; connection: DatabaseSync } {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const store = openSqliteStore(path)
  const connection = prepare.mock.contexts.at(-1) as DatabaseSync | undefined
  prepare.mockRestore()
  if (!connection) throw new Error('The store has prepared nothing.')
  return { store, connection }
}

/** Creates a grant whose session takes 20,000 bytes. */
function bigSample(name: string) {
  const sample = grantSample(name)
  return { ...sample, session: { ...sample.session, sealed: `k.${'x'.repeat(20_000)}` } }
}

/** Adds grants, fifty at once, until some are refused. Returns the names of those that resolved, and the refusals. */
async function fillUp(store: Store): Promise<{ resolved: string[]; refusals: unknown[] }> {
  const resolved: string[] = []
  const refusals: unknown[] = []
  for (let round = 0; refusals.length === 0; round += 1) {
    await race(async (index) => {
      const name = `${round}-${index}`
      await addGrant(store, bigSample(name)).then(
        () => resolved.push(name),
        (error: unknown) => refusals.push(error),
      )
    })
  }
  return { resolved, refusals }
}

async function expectAll(store: Store, names: readonly string[]): Promise<void> {
  for (const name of names) {
    expect(await store.findProviderSession(`grant ${name}`)).toEqual(bigSample(name).session)
    expect(await store.findAccessToken(`access ${name} 1`, start)).toBeDefined()
  }
}

/** Expects all kinds of writes, fifty at once, to be refused as unavailable with `message`. */
async function expectRefusals(store: Store, message: RegExp): Promise<void> {
  const results = await Promise.allSettled([
    ...Array.from({ length: 48 }, (_, index) => addGrant(store, bigSample(`late ${index}`))),
    // More than may be left when no grant fits any more.
    store.countAttempt(`key ${'x'.repeat(100_000)}`, 60, start),
    store.addSocialSignIn(
      { id: 's', bindingHash: 'b', sealed: 'x'.repeat(100_000), expiresAt: start + 60 },
      5,
    ),
  ])
  for (const result of results) {
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(StoreUnavailableError)
    expect(result.status === 'rejected' && String(result.reason)).toMatch(message)
  }
}

it('a database that cannot grow refuses new data as unavailable, loses nothing, and recovers', async () => {
  const path = newFile()
  const { store, connection } = openWithConnection(path)
  const pages = Number(connection.prepare('PRAGMA page_count').get()?.['page_count'])
  connection.exec(`PRAGMA max_page_count = ${pages + 500}`)
  const { resolved, refusals } = await fillUp(store)
  expect(resolved.length).toBeGreaterThan(0)
  for (const error of refusals) expect(error).toBeInstanceOf(StoreUnavailableError)
  await expectRefusals(store, /no space left/)
  await expectAll(store, resolved)

  connection.exec('PRAGMA max_page_count = 1000000')
  await addGrant(store, bigSample('after'))
  await expectAll(store, [...resolved, 'after'])
  await store.close()
  expect(checkIntegrity(path)).toBe('ok')
  const again = openSqliteStore(path)
  await expectAll(again, [...resolved, 'after'])
  await again.close()
})

it('a database that has become read-only refuses writes as unavailable, answers reads, and goes on when it may be written again', async () => {
  const path = newFile()
  const { store, connection } = openWithConnection(path)
  const { tokens } = await addGrant(store, bigSample('before'))
  connection.exec('PRAGMA query_only = ON')
  await expectRefusals(store, /read-only/)
  const options = rotationTerms(start)
  await expect(store.rotateRefreshToken(tokens.refreshHash, successorSample('x'), options)).rejects.toThrow(
    StoreUnavailableError,
  )
  await expect(store.collectExpired(start + 61, 10)).rejects.toThrow(StoreUnavailableError)
  await expectAll(store, ['before'])

  connection.exec('PRAGMA query_only = OFF')
  expect(await store.rotateRefreshToken(tokens.refreshHash, successorSample('before 2'), options)).toEqual({
    kind: 'rotated',
  })
  await store.close()
  expect(checkIntegrity(path)).toBe('ok')
})

it('a damaged database is reported as such: that does not pass by itself', async () => {
  const path = newFile()
  const store = openSqliteStore(path)
  const { tokens, grant } = await addGrant(store, grantSample('a'))
  await store.close()
  const rootPage = inspectDatabase(path, (database) =>
    Number(
      database.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'refresh_token'`).get()?.['rootpage'],
    ),
  )
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, (rootPage - 1) * 4096)
  closeSync(file)

  const damaged = openSqliteStore(path)
  const found = damaged.findRefreshToken(tokens.refreshHash)
  await expect(found).rejects.toThrow(/malformed/)
  await expect(found).rejects.not.toBeInstanceOf(StoreUnavailableError)
  const options = rotationTerms(start)
  const rotated = damaged.rotateRefreshToken(tokens.refreshHash, successorSample('x'), options)
  const ended = damaged.endGrant(grant.id, 'code_reuse', start)
  await expect(rotated).rejects.toThrow(/malformed/)
  await expect(rotated).rejects.not.toBeInstanceOf(StoreUnavailableError)
  // Undamaged parts are still served.
  await ended
  await damaged.close()
})

it('a closed store has committed all earlier writes', async () => {
  const path = newFile()
  const store = openSqliteStore(path)
  const counted = race((index) => store.countAttempt(`key ${index % 5}`, 60, start))
  await store.close()
  expect((await counted).filter(({ count }) => count === 10)).toHaveLength(5)
  const again = openSqliteStore(path)
  expect((await again.countAttempt('key 0', 60, start)).count).toBe(11)
  await again.close()
})

it('a database that has become read-only does not prove to be writable until it is writable again', async () => {
  const { store, connection } = openWithConnection(newFile())
  await store.proveWritable()
  connection.exec('PRAGMA query_only = ON')
  await expect(store.proveWritable()).rejects.toThrow('The database is read-only.')
  expect(await store.findClient('')).toBeUndefined()
  connection.exec('PRAGMA query_only = OFF')
  await store.proveWritable()
  await store.close()
})
