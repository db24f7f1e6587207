import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type Client, ClientUnavailableError, finderFor } from '../../core/clients/client.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import { retryLater, tooManyRequests } from '../response.ts'
import { readForm } from '../middleware/body.ts'
import { type ClientAuthenticationPorts, readClient } from './client-authentication.ts'

const defaultRetrySeconds = 5

/** Dependencies of endpoints that authenticate clients. */
export interface ClientEndpointPorts {
  authentication: ClientAuthenticationPorts
}

/** Responds to the form of an authenticated client. */
export type ClientFormHandler = (
  client: Client,
  form: URLSearchParams,
  context: RequestContext,
) => Promise<Response>

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
        try {
          const form = await readForm(request)
          const client = await readClient(request, form, authenticationFor(context, authentication))
          return await answer(client, form, context)
        } catch (error) {
          if (error instanceof OAuthError && error.code === 'temporarily_unavailable') {
            const { code, description, cause } = error
            context.report('request_refused', { code, description, error: cause, ...error.logFields })
            const { limited = false, retryAfterSeconds = defaultRetrySeconds } =
              cause instanceof ClientUnavailableError ? cause : {}
            return limited
              ? tooManyRequests(description, retryAfterSeconds)
              : retryLater(error, error.retryAfterSeconds ?? retryAfterSeconds)
          }
          throw error
        }
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
