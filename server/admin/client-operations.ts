import { z } from 'zod'
import { type ClientFacts, listKnownClients } from '../core/operator/client-list.ts'
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
  client_name: z.string().optional().describe("the client's own name for itself"),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  token_endpoint_auth_method: z.string(),
  introspects: z.boolean(),
  created_at: seconds('when it was added'),
  expires_at: seconds('when it is deleted unless a user signs in with it').optional(),
} satisfies Record<keyof ClientFacts, z.ZodType>)

export const clientOperations: readonly AdminOperation[] = [
  adminOperation({
    id: 'listClients',
    method: 'GET',
    path: '/clients',
    summary: 'Lists the known clients, at most 10,000.',
    input: z.strictObject({ all: switchParameter('include registrations that were never used to sign in') }),
    result: {
      description: 'The clients, and the number of registrations that were never used to sign in.',
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
    summary: 'Removes a client and ends all its grants.',
    input: z.strictObject({ id: textParameter('the id of the client, URL-encoded') }),
    result: {
      description: 'The client was removed. `removed` is false when only its grants were left.',
      schema: z.object({ client_id: z.string(), removed: z.boolean(), grants_ended: z.int() }),
    },
    refusals: { 404: 'Unknown client.', 409: 'The client is configured in the file of CLIENTS.' },
    async handle({ id }, { store, configured, runtime, report }) {
      const outcome = await removeKnownClient(id, { store, configured, runtime })
      if (outcome.kind === 'unknown') {
        throw new AdminRefusal(404, `There is no client ${JSON.stringify(id)}.`)
      }
      if (outcome.kind === 'configured') {
        throw new AdminRefusal(
          409,
          `${id} is configured in the file of CLIENTS. Remove it there and restart the servers.`,
        )
      }
      const { removed, grantsEnded } = outcome
      report('admin_client_removed', { client_id: id, removed, grants_ended: grantsEnded })
      return { client_id: id, removed, grants_ended: grantsEnded }
    },
  }),
]
