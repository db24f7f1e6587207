import { describe, expect, it } from 'vitest'
import type { Client } from '../../core/client.ts'
import { start } from '../../testing/grant-sample.ts'
import { bareClient, clientSample } from './clients.ts'
import type { StoreInstances } from './instances.ts'
import { awkwardTexts, longText } from './texts.ts'

const daySeconds = 86_400

/** The part of the store contract about what becomes of clients: changed, kept, listed, trimmed, removed, expired. */
export function describeClientUse(instances: StoreInstances): void {
  describeChanges(instances)
  describeKeptClients(instances)
  describeLists(instances)
  describeTrimming(instances)
  describeExpiry(instances)
}

function describeChanges({ store, race }: StoreInstances): void {
  const changed: Client = { ...bareClient, kind: 'metadata_document', createdAt: start + 5, name: 'Changed' }

  describe('clients that change', () => {
    it('are replaced as a whole', async () => {
      await store().addClient(clientSample)
      expect(await store().replaceClient(changed)).toBe(true)
      expect(await store().findClient(clientSample.id)).toStrictEqual(changed)
      expect(await store().replaceClient(clientSample)).toBe(true)
      expect(await store().findClient(clientSample.id)).toStrictEqual(clientSample)
    })

    it('are not added by replacing them', async () => {
      expect(await store().replaceClient(clientSample)).toBe(false)
      expect(await store().findClient(clientSample.id)).toBeUndefined()
    })

    it('are put where there is none, and over what is there', async () => {
      await store().putClient(clientSample)
      expect(await store().findClient(clientSample.id)).toStrictEqual(clientSample)
      await store().putClient(changed)
      expect(await store().findClient(clientSample.id)).toStrictEqual(changed)
    })

    it('fifty puts at once leave one of them whole', async () => {
      await race((each, index) =>
        each.putClient({ ...clientSample, name: `${index}`, secretHash: `${index}` }),
      )
      const found = await store().findClient(clientSample.id)
      expect(found?.secretHash).toBe(found?.name)
      expect(await store().listClients({ after: '', limit: 100 })).toHaveLength(1)
    })

    it('RFC 7592 2.3: are removed once, and can be added again', async () => {
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

    it.each(['', 'MCPC_1', 'mcpc_1\0', longText])('removing %j removes nothing', async (id) => {
      await store().addClient(clientSample)
      expect(await store().removeClient(id)).toBe(false)
      expect(await store().findClient(clientSample.id)).toBeDefined()
    })
  })
}

function describeKeptClients({ store, race }: StoreInstances): void {
  const end = (): Promise<number | undefined> =>
    store()
      .findClient(clientSample.id)
      .then((client) => client?.expiresAt)
  const first = start + daySeconds

  describe('clients that somebody signs in with', () => {
    it.each([
      ['later', first + 1, first + 1],
      ['as it is', first, first],
      ['earlier: it stays', first - 1, first],
    ])('the end is %s', async (_what, until, expected) => {
      await store().addClient(clientSample)
      await store().keepClient(clientSample.id, until)
      expect(await end()).toBe(expected)
    })

    it('one that has no end gets none', async () => {
      await store().addClient(bareClient)
      await store().keepClient(bareClient.id, first)
      expect(await store().findClient(bareClient.id)).toStrictEqual(bareClient)
    })

    it('one that is unknown stays unknown, and the others are as they were', async () => {
      await store().addClient(clientSample)
      await store().keepClient('nothing', first + 1)
      expect(await store().findClient('nothing')).toBeUndefined()
      expect(await end()).toBe(first)
    })

    it('fifty at once: the latest end stays', async () => {
      await store().addClient(clientSample)
      await race((each, index) => each.keepClient(clientSample.id, first + ((index * 7) % 50)))
      expect(await end()).toBe(first + 49)
    })

    it('whoever stores it again with the end it had before does not shorten it', async () => {
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

    it('one that nobody signed in with may get an earlier end', async () => {
      await store().addClient(clientSample)
      await store().replaceClient({ ...clientSample, expiresAt: first - 5 })
      expect(await end()).toBe(first - 5)
    })
  })
}

function describeLists({ store }: StoreInstances): void {
  describe('lists of clients', () => {
    it('are empty in an empty store', async () => {
      expect(await store().listClients({ after: '', limit: 10 })).toEqual([])
    })

    it('go by id, page by page, whatever the kind and the end', async () => {
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

    it.each(awkwardTexts)('go on after %s', async (_what, text) => {
      const whole = { ...clientSample, id: `id ${text}`, name: text }
      await store().addClient(whole)
      expect(await store().listClients({ after: 'id', limit: 5 })).toStrictEqual([whole])
      expect(await store().listClients({ after: whole.id, limit: 5 })).toEqual([])
    })
  })
}

function describeTrimming({ store, race }: StoreInstances): void {
  const ids = async (): Promise<string[]> =>
    (await store().listClients({ after: '', limit: 200 })).map(({ id }) => id)
  const register = async (count: number): Promise<void> => {
    // In no order of their age.
    for (let index = 0; index < count; index += 1) {
      const age = (index * 7) % count
      await store().addClient({ ...clientSample, id: `r${age}`, createdAt: start + age })
    }
  }

  describe('trimmed registrations', () => {
    it.each([
      ['none, when there are as many as may be', 5, 100, ['r0', 'r1', 'r2', 'r3', 'r4']],
      ['none, when there are fewer', 9, 100, ['r0', 'r1', 'r2', 'r3', 'r4']],
      ['the oldest above that', 3, 100, ['r2', 'r3', 'r4']],
      ['the oldest, as many as asked for', 1, 2, ['r2', 'r3', 'r4']],
      ['all', 0, 100, []],
      ['none with a limit of 0', 0, 0, ['r0', 'r1', 'r2', 'r3', 'r4']],
    ])('are %s', async (_what, most, limit, left) => {
      await register(5)
      expect(await store().trimClients(most, limit, start)).toBe(5 - left.length)
      expect(await ids()).toEqual(left)
    })

    it('come from the network that has most of them, and the oldest there go first', async () => {
      const networks = ['192.0.2.0/24', '198.51.100.0/24', '2001:db8:1::/48']
      // The flood is newer than the others; of a few it takes none.
      for (const [index, network] of networks.entries()) {
        for (let age = 0; age < [2, 3, 9][index]!; age += 1) {
          const id = `n${index} ${age}`
          await store().addClient({ ...clientSample, id, createdAt: start + index * 100 + age }, network)
        }
      }
      expect(await store().trimClients(9, 100, start)).toBe(5)
      expect(await ids()).toEqual(['n0 0', 'n0 1', 'n1 0', 'n1 1', 'n1 2', 'n2 5', 'n2 6', 'n2 7', 'n2 8'])
      expect(await store().trimClients(6, 100, start)).toBe(3)
      expect(await ids()).toEqual(['n0 0', 'n0 1', 'n1 1', 'n1 2', 'n2 7', 'n2 8'])
    })

    it('are none whose login page was shown lately, and as many others', async () => {
      await register(4)
      await store().noteClientOpened('r0', start + 50)
      await store().noteClientOpened('nothing', start + 50)
      expect(await store().trimClients(3, 100, start + 50)).toBe(1)
      expect(await ids()).toEqual(['r0', 'r2', 'r3'])
      expect(await store().trimClients(0, 100, start + 50)).toBe(2)
      expect(await store().trimClients(0, 100, start + 51)).toBe(1)
    })

    it('the last time that a page was shown counts, to the minute', async () => {
      await register(1)
      await store().noteClientOpened('r0', start)
      await store().noteClientOpened('r0', start + 59)
      expect(await store().trimClients(1, 100, start + 60)).toBe(0)
      await store().noteClientOpened('r0', start + 60)
      expect(await store().trimClients(0, 100, start + 60)).toBe(0)
      expect(await store().trimClients(0, 100, start + 61)).toBe(1)
    })

    it('storing one again keeps its network and when its page was shown', async () => {
      await store().addClient({ ...clientSample, id: 'one', createdAt: start + 1 }, '192.0.2.0/24')
      await store().addClient({ ...clientSample, id: 'two', createdAt: start }, '192.0.2.0/24')
      await store().addClient({ ...clientSample, id: 'other', createdAt: start - 9 }, '198.51.100.0/24')
      await store().noteClientOpened('two', start + 60)
      for (const [index, id] of ['two', 'one'].entries()) {
        await store().replaceClient({ ...clientSample, id, createdAt: start + index })
        await store().putClient({ ...clientSample, id, createdAt: start + index })
      }
      // Of the two of one network the older goes, unless its page is open.
      expect(await store().trimClients(2, 100, start + 60)).toBe(1)
      expect(await ids()).toEqual(['one', 'two'])
      expect(await store().trimClients(1, 100, start + 61)).toBe(1)
      expect(await ids()).toEqual(['one'])
    })

    it('are none of those that somebody signed in with, that have no end, or that are no registrations', async () => {
      await register(3)
      await store().keepClient('r0', start)
      const others: Client[] = [
        { ...clientSample, id: 'configured', kind: 'configured' },
        { ...clientSample, id: 'document', kind: 'metadata_document' },
        { ...bareClient, id: 'endless' },
      ]
      for (const other of others) await store().addClient({ ...other, createdAt: 0 })
      expect(await store().trimClients(1, 100, start)).toBe(1)
      expect(await ids()).toEqual(['configured', 'document', 'endless', 'r0', 'r2'])
      expect(await store().trimClients(0, 100, start)).toBe(1)
      expect(await ids()).toEqual(['configured', 'document', 'endless', 'r0'])
    })

    it('are none that were stored again after somebody signed in with them', async () => {
      await register(1)
      await store().keepClient('r0', start)
      await store().replaceClient({ ...clientSample, id: 'r0', name: 'replaced' })
      await store().putClient({ ...clientSample, id: 'r0', name: 'put' })
      expect(await store().trimClients(0, 100, start)).toBe(0)
    })

    it('a client that was removed and registered again begins anew', async () => {
      await register(1)
      await store().keepClient('r0', start)
      await store().removeClient('r0')
      await register(1)
      expect(await store().trimClients(0, 100, start)).toBe(1)
    })

    it('fifty at once leave as many as may be', async () => {
      await register(40)
      const trimmed = await race((each) => each.trimClients(30, 3, start))
      const rest = await store().trimClients(30, 100, start)
      expect(trimmed.reduce((sum, count) => sum + count, rest)).toBe(10)
      expect((await ids()).length).toBe(30)
    })

    it('fifty registrations and trims at once lose nobody who signed in', async () => {
      await race(async (each, index) => {
        await each.addClient({ ...clientSample, id: `k${index}`, createdAt: start + index })
        await each.keepClient(`k${index}`, start + 2 * daySeconds)
        await each.trimClients(50, 10, start)
      })
      expect(await ids()).toHaveLength(50)
    })
  })
}

function describeExpiry({ store }: StoreInstances): void {
  describe('clients that expire', () => {
    it('are found until they are collected, which they are at their end', async () => {
      await store().addClient(clientSample)
      await store().addClient({ ...clientSample, id: 'later', expiresAt: start + daySeconds + 1 })
      await store().addClient({ ...bareClient, id: 'endless' })
      expect(await store().collectExpired(start + daySeconds - 1, 500)).toBe(0)
      expect(await store().findClient(clientSample.id)).toBeDefined()
      expect(await store().collectExpired(start + daySeconds, 500)).toBe(1)
      expect(await store().findClient(clientSample.id)).toBeUndefined()
      expect(await store().collectExpired(start + 1000 * daySeconds, 500)).toBe(1)
      expect(await store().findClient('endless')).toBeDefined()
    })

    it('are collected at the end that they were moved to', async () => {
      await store().addClient(clientSample)
      await store().keepClient(clientSample.id, start + 9 * daySeconds)
      expect(await store().collectExpired(start + 9 * daySeconds - 1, 500)).toBe(0)
      expect(await store().collectExpired(start + 9 * daySeconds, 500)).toBe(1)
    })

    it('are collected within the limit', async () => {
      for (let index = 0; index < 5; index += 1) await store().addClient({ ...clientSample, id: `${index}` })
      expect(await store().collectExpired(start + daySeconds, 3)).toBe(3)
      expect(await store().collectExpired(start + daySeconds, 3)).toBe(2)
      // What is collected is no longer counted among what may be trimmed.
      await store().addClient(clientSample)
      expect(await store().trimClients(1, 10, start)).toBe(0)
    })
  })
}
