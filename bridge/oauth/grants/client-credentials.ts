import { configuredClient } from '../client/client-choice.ts'
import type { DiscoveredServer } from '../discovery/discovery.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthContext } from '../server-request.ts'
import { type GrantRequest, type GrantedTokens, grantedTokens, requestGrant } from './grant.ts'

/**
 * Signs in as the client itself (RFC 6749 section 4.4), with its secret or private key. Rejects with `OAuthFailure`
 * `no_registration` when no client is configured, or `issuer_changed` when it belongs to another issuer. Does not
 * request a refresh token: the client can sign in again.
 */
export async function signInAsClient(request: GrantRequest, context: OAuthContext): Promise<GrantedTokens> {
  const { config } = context
  const client = configuredClient(config, request)
  const parameters = { grant_type: 'client_credentials', scope: request.scope }
  const answered = await requestGrant(request, client, parameters, context)
  const { issuer } = request.server.metadata
  const granted = grantedTokens({ client, quirks: {} }, answered, issuer, config)
  const { refreshToken: _unwanted, ...tokens } = granted.tokens
  return { ...granted, tokens }
}

/**
 * Describes the server of a configured token endpoint without discovery. The endpoint stands for the issuer, also as
 * the audience of a client assertion. The resource is the server's URL without its query, which may contain a key.
 */
export function serverAtTokenEndpoint(tokenEndpoint: string, config: OAuthConfig): DiscoveredServer {
  const { origin, pathname } = new URL(config.serverUrl)
  const canonical = `${origin}${pathname === '/' ? '' : pathname}`
  return {
    metadata: { issuer: tokenEndpoint, token_endpoint: tokenEndpoint },
    resource: config.sendResource ? (config.resource ?? canonical) : undefined,
    resourceScopes: undefined,
    isAssumed: false,
  }
}
