import { isExpired, isInUse } from './client-life.ts'
import type { Client, ClientStore } from './client.ts'

const pageSize = 500

/** Whoever looks at more than this looks at nothing. */
const maxListed = 10_000

/** One client as an operator is told about it; times are epoch seconds. Nothing secret is in it. */
export interface ClientFacts {
  client_id: string
  kind: Client['kind']
  client_name: string | undefined
  redirect_uris: string[]
  grant_types: string[]
  token_endpoint_auth_method: string
  introspects: boolean
  created_at: number
  expires_at: number | undefined
}

/** At most `most` of the stored clients, by id, read page by page beside running servers. */
export async function listStoredClients(
  store: Pick<ClientStore, 'listClients'>,
  most: number,
): Promise<Client[]> {
  const clients: Client[] = []
  for (let after = ''; clients.length < most;) {
    const page = await store.listClients({ after, limit: pageSize })
    clients.push(...page)
    after = page.at(-1)?.id ?? after
    if (page.length < pageSize) break
  }
  return clients.slice(0, most)
}

/**
 * The clients that are known, at most 10,000: the `configured` ones, then those of the store. Registrations that nobody has signed in
 * with are only counted (`unused`) unless `all` says otherwise: anybody can make them.
 */
export async function listKnownClients(
  { all, now }: { all: boolean; now: number },
  {
    store,
    configured,
  }: { store: Pick<ClientStore, 'listClients'> | undefined; configured: ReadonlyMap<string, Client> },
): Promise<{ clients: ClientFacts[]; unused: number }> {
  const stored = store ? await listStoredClients(store, maxListed + 1) : []
  const alive = stored.filter((client) => !isExpired(client, now))
  const known = alive.filter((client) => all || isInUse(client))
  return {
    clients: [...configured.values(), ...known].slice(0, maxListed).map(factsOf),
    unused: alive.filter((client) => !isInUse(client)).length,
  }
}

function factsOf(client: Client): ClientFacts {
  return {
    client_id: client.id,
    kind: client.kind,
    client_name: client.name,
    redirect_uris: [...client.redirectUris],
    grant_types: [...client.grantTypes],
    token_endpoint_auth_method: client.authMethod,
    introspects: client.introspects,
    created_at: client.createdAt,
    expires_at: client.expiresAt,
  }
}
