import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type Client, ClientUnavailableError, finderFor } from '../../core/clients/client.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import { retryLater, tooManyRequests } from '../http-error.ts'
import { readForm } from '../middleware/body.ts'
import { type ClientAuthenticationPorts, readClient } from './client-authentication.ts'

const usualRetrySeconds = 5

/** What the endpoints need that clients prove themselves to. */
export interface ClientEndpointPorts {
  authentication: ClientAuthenticationPorts
}

/** Answers the form of a client that has proven itself. */
export type ClientFormHandler = (
  client: Client,
  form: URLSearchParams,
  context: RequestContext,
) => Promise<Response>

/**
 * An endpoint that takes forms of clients by POST, and only in the body: what stands in the query does not count, and so no
 * secret needs to be in a URL (RFC 6749 sections 2.3.1 and 3.2). Who the client is comes before what it wants.
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
            const { limited = false, retryAfterSeconds = usualRetrySeconds } =
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

/** What has to be fetched to know the client, or its keys, counts for the address that the request comes from. */
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
