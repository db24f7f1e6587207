import { beforeEach, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { createClientKeeper, isInUse, type KeepClient } from './client-life.ts'
import type { Client } from './client.ts'
import type { Store } from '../store.ts'

const day = 86_400
const grantEnd = start + 30 * day
const document = { fetchedAt: start, freshUntil: start + 300 }

const registered = publicClient({ expiresAt: start + day })
const described = publicClient({ id: 'https://client.example/c', kind: 'metadata_document', document })

let store: Store
let writes: string[]
let keep: KeepClient
beforeEach(() => {
  store = openMemoryStore()
  writes = []
  keep = createClientKeeper({
    keepClient: (id, until) => {
      writes.push(`keep ${id}`)
      return store.keepClient(id, until)
    },
    putClient: (client) => {
      writes.push(`put ${client.id}`)
      return store.putClient(client)
    },
  })
})

const endOf = async ({ id }: Client): Promise<number | undefined> => (await store.findClient(id))?.expiresAt

it.each<[what: string, shownAfterDays: readonly number[], days: number]>([
  ['never', [], 1],
  ['at once', [0], 30],
  ['and again a week later', [0, 7], 37],
  ['every four weeks', [0, 28, 56, 84], 90],
])(
  'a registration whose login page is shown %s %j is kept for this many days: %i',
  async (_what, shown, days) => {
    await store.addClient(registered)
    for (const after of shown) await store.noteClientOpened(registered.id, start + after * day)
    expect(await endOf(registered)).toBe(start + days * day)
    const stored = await store.findClient(registered.id)
    expect(stored && isInUse(stored)).toBe(false)
    // The first sign-in makes it one that is in use.
    await keep(stored ?? registered, grantEnd)
    expect(await endOf(registered)).toBe(start + 120 * day)
  },
)

it('clients in use, without expiry or from documents do not change when their page is shown', async () => {
  const others = [
    publicClient({ id: 'mcpc_endless' }),
    { ...described, expiresAt: start + day },
    publicClient({ id: 'mcpc_used', expiresAt: start + day }),
  ]
  for (const other of others) await store.addClient(other)
  await store.keepClient('mcpc_used', start + 120 * day)
  for (const { id } of others) await store.noteClientOpened(id, start)
  expect(await Promise.all(others.map(endOf))).toEqual([undefined, start + day, start + 120 * day])
})

it('a registration lives 90 days longer than the grant, and is not trimmed', async () => {
  await store.addClient(registered)
  await keep(registered, grantEnd)
  expect(await endOf(registered)).toBe(start + 120 * day)
  expect(await store.trimClients(0, 10, start)).toBe(0)
})

it('a document is stored for 90 days longer than the grant', async () => {
  await keep(described, grantEnd)
  expect(await store.findClient(described.id)).toEqual({ ...described, expiresAt: start + 120 * day })
})

it('a document that is stored gets only a new expiry, as another instance may have a newer one', async () => {
  await store.putClient({ ...described, name: 'Newer', expiresAt: start + 100 * day })
  await keep({ ...described, expiresAt: start + 100 * day }, grantEnd)
  expect(await store.findClient(described.id)).toMatchObject({
    name: 'Newer',
    expiresAt: start + 120 * day,
  })
})

it.each<[what: string, client: Client]>([
  ['a registration without an end', publicClient()],
  ['a client of the operator', publicClient({ kind: 'configured' })],
  ['a registration that is kept for longer', publicClient({ expiresAt: start + 120 * day })],
])('createClientKeeper writes nothing about %s', async (_what, client) => {
  await keep(client, grantEnd)
  expect(writes).toEqual([])
})

it("a document's expiry is written once, although the cached client does not say that it is stored", async () => {
  for (let refresh = 0; refresh < 3; refresh += 1) await keep(described, grantEnd)
  expect(writes).toEqual([`put ${described.id}`, `keep ${described.id}`])
  await keep(described, grantEnd + 1)
  expect(await endOf(described)).toBe(start + 120 * day + 1)
})

it('a failed write of an expiry is retried at the next use', async () => {
  let isDown = true
  const failing = createClientKeeper({
    ...store,
    keepClient: (id, until) => (isDown ? Promise.reject(new Error('down')) : store.keepClient(id, until)),
  })
  await store.addClient(registered)
  await expect(failing(registered, grantEnd)).rejects.toThrow('down')
  isDown = false
  await failing(registered, grantEnd)
  expect(await endOf(registered)).toBe(start + 120 * day)
})

it.each<[what: string, client: Client, expected: boolean]>([
  ['registered a moment ago', registered, false],
  ['registered and used', publicClient({ expiresAt: start + 90 * day + 1 }), true],
  ['registered without an end', publicClient(), true],
  ['of the operator', publicClient({ kind: 'configured' }), true],
  ['a document that is not stored', described, false],
  ['a document that is stored', { ...described, expiresAt: start + day }, true],
])('isInUse: %s: %s', (_what, client, expected) => {
  expect(isInUse(client)).toBe(expected)
})
