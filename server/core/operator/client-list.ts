import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { z } from 'zod'
import { isExpired, isInUse } from '../clients/client-life.ts'
import type { Client, ClientStore } from '../clients/client.ts'
import { pagesOf } from '../paging.ts'
import { seconds } from './operation.ts'

const maxListed = 10_000

/** One client as shown to operators. Contains no secrets. */
export const clientSchema = z.object({
  client_id: z.string(),
  kind: z.enum(['configured', 'registered', 'metadata_document']),
  client_name: z.string().optional().describe("the client's own name for itself"),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  token_endpoint_auth_method: z.string(),
  introspects: z.boolean(),
  created_at: seconds('when it was added'),
  expires_at: seconds('when it is deleted unless a user signs in with it').optional(),
})

export type ClientFacts = z.output<typeof clientSchema>

interface ClientListPorts {
  store: Pick<ClientStore, 'listClients'>
  runtime: Pick<Runtime, 'now' | 'sleep'>
}

/** Lists clients by id, expired ones too. */
export async function listStoredClients({ store, runtime }: ClientListPorts, max: number): Promise<Client[]> {
  const clients: Client[] = []
  for await (const page of pagesOf(store.listClients, ({ id }) => id, runtime)) {
    clients.push(...page)
    if (clients.length >= max) break
  }
  return clients.slice(0, max)
}

/** At most 10,000, the `configured` ones first. Only counts registrations never used to sign in, unless `all`. */
export async function listKnownClients(
  { all }: { all: boolean },
  { store, configured, runtime }: ClientListPorts & { configured: ReadonlyMap<string, Client> },
): Promise<{ clients: ClientFacts[]; unused: number }> {
  const stored = await listStoredClients({ store, runtime }, maxListed + 1)
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
