import { z } from 'zod'
import { looksLikeDocumentUrl } from '../clients/client-id-metadata-document.ts'
import { isExpired, isInUse } from '../clients/client-life.ts'
import { removeClientWithGrants } from '../clients/client-removal.ts'
import type { Client } from '../clients/client.ts'
import { pagesOf } from '../paging.ts'
import {
  type Columns,
  listText,
  maxListed,
  operation,
  OperatorRefusal,
  seconds,
  switchParameter,
  textParameter,
  timeText,
} from './operation.ts'

/** One client as shown to operators. Contains no secrets. */
const clientSchema = z.object({
  client_id: z.string(),
  kind: z.enum(['configured', 'service', 'registered', 'metadata_document']),
  client_name: z.string().optional().describe("the client's own name for itself"),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  token_endpoint_auth_method: z.string(),
  introspects: z.boolean(),
  created_at: seconds('when it was added'),
  expires_at: seconds('when it is deleted unless a user signs in with it').optional(),
})

export const listClientsOperation = operation({
  summary: 'List the known clients, at most 10,000.',
  input: z.strictObject({ all: switchParameter('include registrations that were never used to sign in') }),
  result: z
    .object({
      clients: z.array(clientSchema),
      unused: z.int().describe('number of registrations that were never used to sign in'),
    })
    .describe('The clients, and the number of registrations that were never used to sign in.'),
  routes: [{ id: 'listClients', request: 'GET /clients' }],
  command: {
    usage: 'clients list',
    examples: ['clients list', 'clients list --all --json'],
    settings: ['store', 'clients'],
    text: ({ clients }) => listText(clients, columns, 'No clients.'),
    notes: ({ unused }, { all }) =>
      unused === 0 || all ? [] : [`${unused} more are registered but unused. To see them: --all`],
  },
  /** Lists the configured ones first. */
  async handle({ all }, { store, configured, runtime }) {
    const now = runtime.now()
    const stored: Client[] = []
    for await (const page of pagesOf(store.listClients, ({ id }) => id, runtime)) {
      stored.push(...page.filter((client) => !isExpired(client, now)))
      if (stored.length >= maxListed) break
    }
    const known = stored.filter((client) => all || isInUse(client))
    return {
      clients: [...configured.values(), ...known].slice(0, maxListed).map(factsOf),
      unused: stored.filter((client) => !isInUse(client)).length,
    }
  },
})

function factsOf(client: Client): z.output<typeof clientSchema> {
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

const columns: Columns<z.output<typeof clientSchema>> = {
  client: (row) => row.client_id,
  kind: (row) => (row.introspects ? `${row.kind}, introspects` : row.kind),
  name: (row) => row.client_name,
  'proves itself by': (row) => row.token_endpoint_auth_method,
  since: (row) => timeText(row.created_at),
  until: (row) => row.expires_at && timeText(row.expires_at),
}

export const removeClientOperation = operation({
  summary: 'Remove a client, and end all its grants.',
  input: z.strictObject({ id: textParameter('the id of the client') }),
  result: z
    .object({
      client_id: z.string(),
      removed: z.boolean().describe('false when only its grants were left'),
      grants_ended: z.int(),
    })
    .describe('The client was removed. `removed` is false when only its grants were left.'),
  routes: [
    {
      id: 'removeClient',
      request: 'DELETE /clients/{id}',
      refusals: { 404: 'Unknown client.', 409: 'The client is configured in the file of CLIENTS.' },
    },
  ],
  command: {
    usage: 'clients remove <client-id>',
    operand: 'id',
    examples: ['clients remove mcpc_J0Qm1yXv3kq8Zt5oW2bL7g'],
    settings: ['store', 'clients'],
    text: ({ client_id: id, removed, grants_ended: ended }) =>
      `${removed ? `Removed ${id}.` : `${id} was removed before.`} Grants ended: ${ended}.`,
    notes: ({ client_id: id }) =>
      looksLikeDocumentUrl(id)
        ? [`Users can connect it again. To refuse it: --client-documents '!${new URL(id).hostname}'`]
        : [],
  },
  /** A client that was already removed but still has grants counts as known: they end. */
  async handle({ id }, { store, configured, runtime, report }) {
    if (configured.has(id)) {
      throw new OperatorRefusal(
        409,
        `${id} is configured in the file of CLIENTS. Remove it there and restart the servers.`,
        `Then end its grants: drawbridge-server grants revoke --client ${id}`,
      )
    }
    const { removed, grantsEnded } = await removeClientWithGrants(id, { store, runtime })
    if (!removed && grantsEnded === 0) {
      throw new OperatorRefusal(
        404,
        `There is no client ${JSON.stringify(id)}.`,
        'List them: drawbridge-server clients list --all',
      )
    }
    const facts = { client_id: id, removed, grants_ended: grantsEnded }
    report('admin_client_removed', facts)
    return facts
  },
})
