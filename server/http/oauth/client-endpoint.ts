import { type Client, finderFor } from '../../core/clients/client.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { readForm } from '../middleware/body.ts'
import type { ClientAuthenticationPorts } from '../../core/clients/client-authentication.ts'
import { readClient } from './client-credentials.ts'

export interface ClientEndpointPorts {
  authentication: ClientAuthenticationPorts
}

/**
 * Creates an endpoint for client forms by POST. Parameters in the query are ignored, so that no secret needs to be in a URL (RFC
 * 6749 sections 2.3.1 and 3.2). The client is authenticated before its request is read.
 */
export function createClientEndpoint(
  path: string,
  cors: Endpoint['cors'],
  { authentication }: ClientEndpointPorts,
  answer: (client: Client, form: URLSearchParams, context: RequestContext) => Promise<Reply>,
): Endpoint {
  return {
    path,
    cors,
    methods: {
      async POST(request, context) {
        const form = await readForm(request)
        context.attempt?.({ clientId: form.get('client_id') ?? undefined })
        // Fetching a client's document or keys counts against the request's address.
        const source = { address: context.address, known: false }
        const client = await readClient(request, form, {
          ...authentication,
          clients: finderFor(source, authentication.clients),
          fetchKeys: (query) => authentication.fetchKeys({ ...query, source }),
        })
        return answer(client, form, context)
      },
    },
  }
}
