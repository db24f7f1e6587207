import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type IntrospectionPorts, introspectToken } from '../../core/tokens/introspection.ts'
import { type RevocationPorts, revokeToken } from '../../core/tokens/revocation.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import type { Endpoint } from '../endpoint.ts'
import { everyone } from '../middleware/cors.ts'
import { empty, json, noCache } from '../response.ts'
import { type ClientEndpointPorts, createClientEndpoint } from './client-endpoint.ts'
import { requiredParameter } from '../middleware/body.ts'

/**
 * `POST /oauth/revoke` (RFC 7009): 200 without content, also for a token that is already invalid. `token_type_hint` is ignored,
 * so a wrong one does no harm.
 */
export function createRevokeEndpoint(
  basePath: string,
  ports: RevocationPorts & ClientEndpointPorts,
): Endpoint {
  return createClientEndpoint(`${basePath}/oauth/revoke`, everyone, ports, async (client, form, context) => {
    await revokeToken(client, requiredParameter(form, 'token'), ports)
    context.report('token_revoked', { client_id: client.id })
    return empty(200)
  })
}

/**
 * `POST /oauth/introspect` (RFC 7662) for authenticated clients only: anyone can name a public client, and could scan for tokens
 * (section 4). Web pages may not read the responses: resource servers call it, not browsers.
 */
export function createIntrospectEndpoint(
  basePath: string,
  ports: IntrospectionPorts & ClientEndpointPorts,
): Endpoint {
  return createClientEndpoint(`${basePath}/oauth/introspect`, 'none', ports, async (client, form) => {
    if (client.authMethod === 'none') {
      throw new OAuthError('invalid_client', 'Only a client with a secret or a key may introspect tokens.')
    }
    return json(await introspect(client, requiredParameter(form, 'token'), ports), 200, noCache)
  })
}

/** Calls {@link introspectToken}. Throws `temporarily_unavailable` while the access rules cannot decide about the user. */
async function introspect(...given: Parameters<typeof introspectToken>): ReturnType<typeof introspectToken> {
  try {
    return await introspectToken(...given)
  } catch (cause) {
    if (!(cause instanceof ProviderError)) throw cause
    throw new OAuthError(
      'temporarily_unavailable',
      'The session provider does not respond. Try again later.',
      { cause },
    )
  }
}
