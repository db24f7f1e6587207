import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import { type Client, ClientUnavailableError } from '../core/client.ts'
import { readForm } from './body.ts'
import { type ClientAuthenticationPorts, readClient } from './client-authentication.ts'
import type { Endpoint, RequestContext } from './endpoint.ts'
import { retryLater } from './retry-later.ts'

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
          return await answer(await readClient(request, form, authentication), form, context)
        } catch (error) {
          if (error instanceof OAuthError && error.code === 'temporarily_unavailable') {
            const { code, description, cause } = error
            context.report('request_refused', { code, description, error: cause })
            const known = cause instanceof ClientUnavailableError ? cause.retryAfterSeconds : undefined
            return retryLater(error, error.retryAfterSeconds ?? known ?? usualRetrySeconds)
          }
          throw error
        }
      },
    },
  }
}
