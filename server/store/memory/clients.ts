import type { Client, ClientStore } from '../../core/client.ts'
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
    return clients.delete(id)
  }

  return {
    operations: {
      addClient: async (client) => set(client),
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
      async trimClients(most, limit) {
        if (unused.size <= most) return 0
        const oldest = [...unused]
          .flatMap((id) => clients.get(id) ?? [])
          .sort((one, other) => one.createdAt - other.createdAt)
          .slice(0, Math.min(unused.size - most, limit))
        for (const { id } of oldest) remove(id)
        return oldest.length
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
