import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type IntrospectionPorts, introspectToken } from '../../core/tokens/introspection.ts'
import { json } from '../response.ts'
import { type ClientEndpointPorts, createClientEndpoint } from './client-endpoint.ts'
import type { Endpoint } from '../endpoint.ts'
import { requiredParameter } from './form-parameter.ts'

/**
 * `POST /oauth/introspect` (RFC 7662) for clients that prove themselves: anybody can name a public client, and so scan for
 * tokens (section 4). No page may read the answers: resource servers ask, not browsers.
 */
export function createIntrospectEndpoint(
  basePath: string,
  ports: IntrospectionPorts & ClientEndpointPorts,
): Endpoint {
  return createClientEndpoint(`${basePath}/oauth/introspect`, 'none', ports, async (client, form) => {
    if (client.authMethod === 'none') {
      throw new OAuthError('invalid_client', 'Only a client with a secret or a key may ask about tokens.')
    }
    return json(await introspectToken(client, requiredParameter(form, 'token'), ports), 200, {
      pragma: 'no-cache',
    })
  })
}
