import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import { z } from 'zod'
import { looksLikeDocumentUrl } from '../clients/client-id-metadata-document.ts'
import { removeKnownClient } from '../clients/client-removal.ts'
import { type ClientFacts, clientSchema, listKnownClients, listStoredClients } from './client-list.ts'
import { operation, OperatorRefusal, switchParameter, textParameter } from './operation.ts'

export const listClientsOperation = operation({
  summary: 'List the known clients, at most 10,000.',
  input: z.strictObject({ all: switchParameter('include registrations that were never used to sign in') }),
  result: z.object({
    clients: z.array(clientSchema),
    unused: z.int().describe('number of registrations that were never used to sign in'),
  }),
  routes: [
    {
      id: 'listClients',
      method: 'GET',
      path: '/clients',
      result: 'The clients, and the number of registrations that were never used to sign in.',
    },
  ],
  command: {
    usage: 'clients list',
    examples: ['clients list', 'clients list --all --json'],
    settings: ['store', 'clients'],
    text({ clients, unused }, { all }) {
      const head = ['client', 'kind', 'name', 'proves itself by', 'since', 'until']
      return {
        text: { head, rows: clients.map(cellsOf), none: 'No clients.' },
        notes: unused === 0 || all ? [] : [`${unused} more are registered but unused. To see them: --all`],
      }
    },
  },
  handle: ({ all }, ports) => listKnownClients({ all }, ports),
})

function cellsOf(row: ClientFacts): string[] {
  return [
    row.client_id,
    row.introspects ? `${row.kind}, introspects` : row.kind,
    plainText(row.client_name ?? '-'),
    row.token_endpoint_auth_method,
    dayText(row.created_at),
    row.expires_at === undefined ? '-' : dayText(row.expires_at),
  ]
}

function dayText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10)
}

/** Maximum number of ids compared with an unknown one. */
const maxCompared = 5000

export const removeClientOperation = operation({
  summary: 'Remove a client, and end all its grants.',
  input: z.strictObject({ id: textParameter('the id of the client') }),
  result: z.object({
    client_id: z.string(),
    removed: z.boolean().describe('false when only its grants were left'),
    grants_ended: z.int(),
  }),
  routes: [
    {
      id: 'removeClient',
      method: 'DELETE',
      path: '/clients/{id}',
      result: 'The client was removed. `removed` is false when only its grants were left.',
      refusals: { 404: 'Unknown client.', 409: 'The client is configured in the file of CLIENTS.' },
    },
  ],
  command: {
    usage: 'clients remove <client-id>',
    operand: 'id',
    examples: ['clients remove mcpc_J0Qm1yXv3kq8Zt5oW2bL7g'],
    settings: ['store', 'clients'],
    text({ client_id: id, removed, grants_ended: ended }) {
      const host = looksLikeDocumentUrl(id) ? new URL(id).hostname : undefined
      return {
        text: `${removed ? `Removed ${id}.` : `${id} was removed before.`} Grants ended: ${ended}.`,
        notes:
          host === undefined
            ? []
            : [`Users can connect it again. To refuse it: --client-document-hosts '!${host}'`],
      }
    },
  },
  async handle({ id }, { store, configured, runtime, report }) {
    const outcome = await removeKnownClient(id, { store, configured, runtime })
    if (outcome.kind === 'unknown') {
      const ids = (await listStoredClients({ store, runtime }, maxCompared)).map((client) => client.id)
      throw new OperatorRefusal(
        404,
        `There is no client ${JSON.stringify(id)}.${suggestion(id, ids)}`,
        'List them: drawbridge-server clients list --all',
      )
    }
    if (outcome.kind === 'configured') {
      throw new OperatorRefusal(
        409,
        `${id} is configured in the file of CLIENTS. Remove it there and restart the servers.`,
        `Then end its grants: drawbridge-server grants revoke --client ${id}`,
      )
    }
    const facts = { client_id: id, removed: outcome.removed, grants_ended: outcome.grantsEnded }
    report('admin_client_removed', facts)
    return facts
  },
})
