import { type Client, ClientUnavailableError } from '../../core/clients/client.ts'
import type { Grant } from '../../core/session/grant.ts'
import type { AccountPorts } from './connections.ts'
import { connectedClient, returnHosts } from '../login/client-view.ts'
import type { ConnectedClient } from '../pages/connection-head.ts'

/** What the list of connections says about their clients. */
export interface ClientNames {
  nameOf(clientId: string): ConnectedClient
  /** Empty for a client of devices only, and for one that is not there any more. */
  returnsToOf(clientId: string): readonly string[]
}

/**
 * Looks up the clients of some grants, each once. Of a client whose id is the address of its document only what is stored is
 * looked at: a list must not make this server fetch a hundred documents of other people's choice. Its host is in its id anyway.
 */
export async function createClientNames(
  of: readonly { grant: Grant }[],
  { login, storedClients }: AccountPorts,
): Promise<ClientNames> {
  const ids = [...new Set(of.map(({ grant }) => grant.clientId))]
  const found = await Promise.all(
    ids.map((id) => (isUrl(id) ? storedClients : login.clients).findClient(id).catch(noneWhenUnavailable)),
  )
  const clients = new Map(ids.map((id, index) => [id, found[index]]))
  return {
    nameOf: (id) => connectedClient(id, clients.get(id)),
    returnsToOf(id) {
      const client = clients.get(id)
      return client ? returnHosts(client) : []
    },
  }
}

function isUrl(id: string): boolean {
  return /^https?:/i.test(id)
}

function noneWhenUnavailable(error: unknown): Client | undefined {
  if (error instanceof ClientUnavailableError) return undefined
  throw error
}
