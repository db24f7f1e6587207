import { describe, expect, it } from 'vitest'
import type { Client } from '../../../server/core/clients/client.ts'
import { start } from '../server/core/grant-sample.ts'
import { bareClient, clientSample } from './clients.ts'
import type { StoreInstances } from './instances.ts'

const daySeconds = 86_400

/** Store contract: which registrations are trimmed, and how many. */
export function describeTrimming({ store, race }: StoreInstances): void {
  const ids = async (): Promise<string[]> =>
    (await store().listClients({ after: '', limit: 200 })).map(({ id }) => id)
  const register = async (count: number): Promise<void> => {
    // Not sorted by age.
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
    ])('registrations that are trimmed: %s', async (_what, most, limit, left) => {
      await register(5)
      expect(await store().trimClients(most, limit, start)).toBe(5 - left.length)
      expect(await ids()).toEqual(left)
    })

    it('registrations are trimmed from the network that has most of them, the oldest first', async () => {
      const networks = ['192.0.2.0/24', '198.51.100.0/24', '2001:db8:1::/48']
      // The flood is newer than the others; it takes none of the few.
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

    it('the store trims no registration whose login page was shown lately, and as many others', async () => {
      await register(4)
      await store().noteClientOpened('r0', start + 50)
      await store().noteClientOpened('nothing', start + 50)
      expect(await store().trimClients(3, 100, start + 50)).toBe(1)
      expect(await ids()).toEqual(['r0', 'r2', 'r3'])
      expect(await store().trimClients(0, 100, start + 50)).toBe(2)
      expect(await store().trimClients(0, 100, start + 51)).toBe(1)
    })

    it('the store keeps registrations for thirty days after their page was shown, ninety days in all', async () => {
      await register(2)
      const day = 86_400
      const endOf = async (id: string) => (await store().findClient(id))?.expiresAt
      const unshown = await endOf('r1')
      for (const after of [0, 7 * day, 80 * day]) {
        await store().noteClientOpened('r0', start + after)
        const { createdAt = 0 } = (await store().findClient('r0')) ?? {}
        expect(await endOf('r0')).toBe(Math.min(start + after + 30 * day, createdAt + 90 * day))
      }
      expect(await endOf('r1')).toBe(unshown)
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

    it('storing a registration again keeps its network and when its page was shown', async () => {
      await store().addClient({ ...clientSample, id: 'one', createdAt: start + 1 }, '192.0.2.0/24')
      await store().addClient({ ...clientSample, id: 'two', createdAt: start }, '192.0.2.0/24')
      await store().addClient({ ...clientSample, id: 'other', createdAt: start - 9 }, '198.51.100.0/24')
      await store().noteClientOpened('two', start + 60)
      for (const [index, id] of ['two', 'one'].entries()) {
        await store().replaceClient({ ...clientSample, id, createdAt: start + index })
        await store().putClient({ ...clientSample, id, createdAt: start + index })
      }
      // Of two from one network the older goes, unless its page is open.
      expect(await store().trimClients(2, 100, start + 60)).toBe(1)
      expect(await ids()).toEqual(['one', 'two'])
      expect(await store().trimClients(1, 100, start + 61)).toBe(1)
      expect(await ids()).toEqual(['one'])
    })

    it('clients with a sign-in, without an expiry, or that are not registrations are never trimmed', async () => {
      await register(3)
      await store().keepClient('r0', start)
      await store().replaceClient({ ...clientSample, id: 'r0', name: 'replaced' })
      await store().putClient({ ...clientSample, id: 'r0', name: 'put' })
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

    it('a client that was removed and registered again is trimmed like a new one', async () => {
      await register(1)
      await store().keepClient('r0', start)
      await store().removeClient('r0')
      await register(1)
      expect(await store().trimClients(0, 100, start)).toBe(1)
    })

    it('fifty trims at once leave the maximum of registrations', async () => {
      await register(40)
      const trimmed = await race((each) => each.trimClients(30, 3, start))
      const rest = await store().trimClients(30, 100, start)
      expect(trimmed.reduce((sum, count) => sum + count, rest)).toBe(10)
      expect((await ids()).length).toBe(30)
    })

    it('fifty registrations and trims at once lose no client with a sign-in', async () => {
      await race(async (each, index) => {
        await each.addClient({ ...clientSample, id: `k${index}`, createdAt: start + index })
        await each.keepClient(`k${index}`, start + 2 * daySeconds)
        await each.trimClients(50, 10, start)
      })
      expect(await ids()).toHaveLength(50)
    })
  })
}
