import { type Client, finderFor } from '../../core/clients/client.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { readForm } from '../middleware/body.ts'
import { type ClientAuthenticationPorts, readClient } from './client-credentials.ts'

export interface ClientEndpointPorts {
  authentication: ClientAuthenticationPorts
}

export type ClientFormHandler = (
  client: Client,
  form: URLSearchParams,
  context: RequestContext,
) => Promise<Reply>

/**
 * Creates an endpoint for client forms by POST. Parameters in the query are ignored, so that no secret needs to be in a URL (RFC
 * 6749 sections 2.3.1 and 3.2). The client is authenticated before its request is read.
 */
export function createClientEndpoint(
  path: string,
  cors: Endpoint['cors'],
  { authentication }: ClientEndpointPorts,
  answer: ClientFormHandler,
): Endpoint {
  return {
    path,
    cors,
    methods: {
      async POST(request, context) {
        const form = await readForm(request)
        context.attempt?.({ clientId: form.get('client_id') ?? undefined })
        const client = await readClient(request, form, authenticationFor(context, authentication))
        return answer(client, form, context)
      },
    },
  }
}

/** Counts fetching a client's document or keys against the request's address. */
function authenticationFor(
  { address }: RequestContext,
  ports: ClientAuthenticationPorts,
): ClientAuthenticationPorts {
  const source = { address, known: false }
  return {
    ...ports,
    clients: finderFor(source, ports.clients),
    fetchKeys: (query) => ports.fetchKeys({ ...query, source }),
  }
}
