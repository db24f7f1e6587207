import { z } from 'zod'
import { listKnownClients } from '../core/operator/client-list.ts'
import { removeKnownClient } from '../core/clients/client-removal.ts'
import {
  type AdminOperation,
  adminOperation,
  AdminRefusal,
  seconds,
  switchParameter,
  textParameter,
} from './admin-operation.ts'

const clientSchema = z.object({
  client_id: z.string(),
  kind: z.enum(['configured', 'registered', 'metadata_document']),
  client_name: z.string().optional().describe('what the client calls itself'),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  token_endpoint_auth_method: z.string(),
  introspects: z.boolean(),
  created_at: seconds('since when it is known'),
  expires_at: seconds('when it is forgotten unless somebody uses it').optional(),
})

/** Clients, to list and to remove. */
export const clientOperations: readonly AdminOperation[] = [
  adminOperation({
    id: 'listClients',
    method: 'GET',
    path: '/clients',
    summary: 'Lists the clients that are known, at most 10,000.',
    input: z.strictObject({ all: switchParameter('also registrations that nobody has signed in with') }),
    result: {
      description: 'The clients, and how many registrations nobody has signed in with.',
      schema: z.object({ clients: z.array(clientSchema), unused: z.int() }),
    },
    refusals: {},
    handle: ({ all }, { store, configured, runtime }) =>
      listKnownClients({ all }, { store, configured, runtime }),
  }),
  adminOperation({
    id: 'removeClient',
    method: 'DELETE',
    path: '/clients/{id}',
    summary: 'Removes a client, and ends everything that people allowed to it.',
    input: z.strictObject({ id: textParameter('the id of the client, URL-encoded') }),
    result: {
      description: 'It is removed. `removed` is false when only grants of it were left.',
      schema: z.object({ client_id: z.string(), removed: z.boolean(), grants_ended: z.int() }),
    },
    refusals: { 404: 'There is no such client.', 409: 'It is a client of the file that CLIENTS names.' },
    async handle({ id }, { store, configured, runtime, report }) {
      const outcome = await removeKnownClient(id, { store, configured, runtime })
      if (outcome.kind === 'unknown') {
        throw new AdminRefusal(404, 'not_found', `There is no client ${JSON.stringify(id)}.`)
      }
      if (outcome.kind === 'configured') {
        throw new AdminRefusal(
          409,
          'conflict',
          `${id} is a client of the file that CLIENTS names. Take it out of there and start the servers again.`,
        )
      }
      const { removed, grantsEnded } = outcome
      report('admin_client_removed', { client_id: id, removed, grants_ended: grantsEnded })
      return { client_id: id, removed, grants_ended: grantsEnded }
    },
  }),
]
