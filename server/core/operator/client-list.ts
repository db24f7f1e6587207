import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isExpired, isInUse } from '../clients/client-life.ts'
import type { Client, ClientStore } from '../clients/client.ts'
import { pagesOf } from '../pages.ts'

const maxListed = 10_000

/** One client as shown to operators; times are epoch seconds. Contains no secrets. */
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

interface ClientListPorts {
  store: Pick<ClientStore, 'listClients'>
  runtime: Pick<Runtime, 'now' | 'sleep'>
}

/** Lists clients by id, expired ones too. */
export async function listStoredClients(
  { store, runtime }: ClientListPorts,
  most: number,
): Promise<Client[]> {
  const clients: Client[] = []
  for await (const page of pagesOf(store.listClients, ({ id }) => id, runtime)) {
    clients.push(...page)
    if (clients.length >= most) break
  }
  return clients.slice(0, most)
}

/** At most 10,000, the `configured` ones first. Only counts registrations never used to sign in, unless `all`. */
export async function listKnownClients(
  { all }: { all: boolean },
  {
    store,
    configured,
    runtime,
  }: Pick<ClientListPorts, 'runtime'> & {
    store: ClientListPorts['store'] | undefined
    configured: ReadonlyMap<string, Client>
  },
): Promise<{ clients: ClientFacts[]; unused: number }> {
  const stored = store ? await listStoredClients({ store, runtime }, maxListed + 1) : []
  const now = runtime.now()
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
