import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type Client, ClientUnavailableError, finderFor } from '../../core/clients/client.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import { retryLater, tooManyRequests } from '../http-error.ts'
import { readForm } from '../middleware/body.ts'
import { type ClientAuthenticationPorts, readClient } from './client-authentication.ts'

const defaultRetrySeconds = 5

/** What the endpoints that authenticate clients need. */
export interface ClientEndpointPorts {
  authentication: ClientAuthenticationPorts
}

/** Answers the form of an authenticated client. */
export type ClientFormHandler = (
  client: Client,
  form: URLSearchParams,
  context: RequestContext,
) => Promise<Response>

/**
 * An endpoint that takes forms of clients by POST, and only from the body: parameters in the query are ignored, so that no
 * secret needs to be in a URL (RFC 6749 sections 2.3.1 and 3.2). The client is authenticated before its request is read.
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
            context.report('request_refused', { code, description, error: cause })
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

/** Fetching a client's document or keys counts against the address that the request comes from. */
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
