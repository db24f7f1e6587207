import { describe, expect, it } from 'vitest'
import type { Client } from '../../../server/core/clients/client.ts'
import { start } from '../server/core/grant-sample.ts'
import { describeTrimming } from './client-trimming.ts'
import { bareClient, clientSample } from './clients.ts'
import type { StoreInstances } from './instances.ts'

const daySeconds = 86_400

/** Store contract: clients that are changed, kept, listed, trimmed, removed or expired. */
export function describeClientUse(instances: StoreInstances): void {
  describeChanges(instances)
  describeKeptClients(instances)
  describeLists(instances)
  describeTrimming(instances)
}

function describeChanges({ store, race }: StoreInstances): void {
  const changed: Client = { ...bareClient, kind: 'metadata_document', createdAt: start + 5, name: 'Changed' }

  describe('clients that change', () => {
    it('the store replaces clients as a whole, and adds none', async () => {
      expect(await store().replaceClient(clientSample)).toBe(false)
      expect(await store().findClient(clientSample.id)).toBeUndefined()
      await store().addClient(clientSample)
      expect(await store().replaceClient(changed)).toBe(true)
      expect(await store().findClient(clientSample.id)).toStrictEqual(changed)
      expect(await store().replaceClient(clientSample)).toBe(true)
      expect(await store().findClient(clientSample.id)).toStrictEqual(clientSample)
    })

    it('the store puts a client where there is none, and over an existing one', async () => {
      await store().putClient(clientSample)
      expect(await store().findClient(clientSample.id)).toStrictEqual(clientSample)
      await store().putClient(changed)
      expect(await store().findClient(clientSample.id)).toStrictEqual(changed)
    })

    it('RFC 7592 2.3: clients are removed once, and can be added again', async () => {
      await store().addClient(clientSample)
      expect(await store().removeClient(clientSample.id)).toBe(true)
      expect(await store().removeClient(clientSample.id)).toBe(false)
      expect(await store().findClient(clientSample.id)).toBeUndefined()
      await store().addClient(bareClient)
      expect(await store().findClient(bareClient.id)).toStrictEqual(bareClient)
    })

    it('fifty callers remove one client once, and no other', async () => {
      await store().addClient(clientSample)
      await store().addClient({ ...clientSample, id: 'other' })
      const removed = await race((each) => each.removeClient(clientSample.id))
      expect(removed.filter(Boolean)).toHaveLength(1)
      expect(await store().findClient('other')).toBeDefined()
    })
  })
}

function describeKeptClients({ store, race }: StoreInstances): void {
  const end = (): Promise<number | undefined> =>
    store()
      .findClient(clientSample.id)
      .then((client) => client?.expiresAt)
  const first = start + daySeconds

  describe('clients with a sign-in', () => {
    it.each([
      ['to a later time', first + 1, first + 1],
      ['to the same time', first, first],
      ['to no earlier time', first - 1, first],
    ])('the end of a client with a sign-in is moved %s', async (_what, until, expected) => {
      await store().addClient(clientSample)
      await store().keepClient(clientSample.id, until)
      expect(await end()).toBe(expected)
    })

    it('a client without an end gets none by a sign-in', async () => {
      await store().addClient(bareClient)
      await store().keepClient(bareClient.id, first)
      expect(await store().findClient(bareClient.id)).toStrictEqual(bareClient)
    })

    it('an unknown client stays unknown after a sign-in, and the others are unchanged', async () => {
      await store().addClient(clientSample)
      await store().keepClient('nothing', first + 1)
      expect(await store().findClient('nothing')).toBeUndefined()
      expect(await end()).toBe(first)
    })

    it('fifty sign-ins of a client at once: the latest end stays', async () => {
      await store().addClient(clientSample)
      await race((each, index) => each.keepClient(clientSample.id, first + ((index * 7) % 50)))
      expect(await end()).toBe(first + 49)
    })

    it('storing a client again with its earlier expiry does not shorten it', async () => {
      await store().addClient(clientSample)
      await store().keepClient(clientSample.id, first + 9)
      await store().replaceClient({ ...clientSample, name: 'replaced' })
      expect(await end()).toBe(first + 9)
      await store().putClient({ ...clientSample, name: 'put' })
      expect(await store().findClient(clientSample.id)).toMatchObject({ name: 'put', expiresAt: first + 9 })
      await store().replaceClient({ ...clientSample, expiresAt: first + 20 })
      expect(await end()).toBe(first + 20)
      await store().replaceClient({ ...clientSample, expiresAt: undefined })
      expect(await end()).toBeUndefined()
    })

    it('a client without a sign-in may get an earlier expiry', async () => {
      await store().addClient(clientSample)
      await store().replaceClient({ ...clientSample, expiresAt: first - 5 })
      expect(await end()).toBe(first - 5)
    })
  })
}

function describeLists({ store }: StoreInstances): void {
  it('the store lists clients of every kind and end by id, page by page', async () => {
    const ids = ['b', 'B', 'a', 'https://client.example/', 'a b', 'é']
    for (const [index, id] of ids.entries()) {
      await store().addClient({ ...(index % 2 ? clientSample : bareClient), id })
    }
    const pages: string[][] = []
    for (let after = ''; ;) {
      const page = await store().listClients({ after, limit: 4 })
      pages.push(page.map(({ id }) => id))
      if (page.length < 4) break
      after = page.at(-1)?.id ?? ''
    }
    expect(pages).toEqual([
      ['B', 'a', 'a b', 'b'],
      ['https://client.example/', 'é'],
    ])
  })
}
