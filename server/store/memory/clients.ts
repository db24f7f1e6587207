import type { Client, ClientStore } from '../../core/clients/client.ts'
import { openedEverySeconds } from '../row.ts'
import { collectRows } from './part.ts'

/** Clients of the memory store. */
export function createMemoryClients(): {
  operations: ClientStore
  collect(now: number, limit: number): number
} {
  const clients = new Map<string, Client>()
  const kept = new Set<string>()
  /** Registrations that nobody signed in with. */
  const unused = new Set<string>()
  const networks = new Map<string, string>()
  const openedAt = new Map<string, number>()

  function set(client: Client): void {
    const { expiresAt: end } = clients.get(client.id) ?? {}
    const { id, kind, expiresAt } = client
    const keepsEnd = kept.has(id) && end !== undefined && expiresAt !== undefined && end > expiresAt
    clients.set(id, keepsEnd ? { ...client, expiresAt: end } : client)
    if (kind === 'registered' && expiresAt !== undefined && !kept.has(id)) unused.add(id)
    else unused.delete(id)
  }

  function remove(id: string): boolean {
    kept.delete(id)
    unused.delete(id)
    networks.delete(id)
    openedAt.delete(id)
    return clients.delete(id)
  }

  /** Unused registrations: the older one is and the more its network has, the higher its place. */
  function placed(): { id: string; createdAt: number; place: number }[] {
    const newestFirst = [...unused]
      .flatMap((id) => clients.get(id) ?? [])
      .sort((one, other) => other.createdAt - one.createdAt)
    const counts = new Map<string, number>()
    return newestFirst.map(({ id, createdAt }) => {
      const network = networks.get(id) ?? ''
      const place = (counts.get(network) ?? 0) + 1
      counts.set(network, place)
      return { id, createdAt, place }
    })
  }

  return {
    operations: {
      async addClient(client, network = '') {
        set(client)
        networks.set(client.id, network)
      },
      findClient: async (id) => clients.get(id),
      async replaceClient(client) {
        const known = clients.has(client.id)
        if (known) set(client)
        return known
      },
      putClient: async (client) => set(client),
      removeClient: async (id) => remove(id),
      async keepClient(id, until) {
        const client = clients.get(id)
        if (client?.expiresAt === undefined) return
        kept.add(id)
        unused.delete(id)
        if (until > client.expiresAt) clients.set(id, { ...client, expiresAt: until })
      },
      listClients: async ({ after, limit }) =>
        [...clients.values()]
          .filter(({ id }) => id > after)
          .sort((one, other) => (one.id < other.id ? -1 : 1))
          .slice(0, limit),
      async noteClientOpened(id, now) {
        if (unused.has(id) && now - (openedAt.get(id) ?? 0) >= openedEverySeconds) openedAt.set(id, now)
      },
      async trimClients(most, limit, openedBefore) {
        if (unused.size <= most) return 0
        const trimmed = placed()
          .filter(({ id }) => (openedAt.get(id) ?? 0) < openedBefore)
          .sort((one, other) => other.place - one.place || one.createdAt - other.createdAt)
          .slice(0, Math.min(unused.size - most, limit))
        for (const { id } of trimmed) remove(id)
        return trimmed.length
      },
    },
    collect: (now, limit) =>
      collectRows(
        clients,
        ({ expiresAt }) => expiresAt !== undefined && expiresAt <= now,
        limit,
        ({ id }) => remove(id),
      ),
  }
}
