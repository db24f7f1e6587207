import { configuredClient } from '../client/client-choice.ts'
import type { DiscoveredServer } from '../discovery/discovery.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { sendWithQuirks } from '../tokens/issuer-quirks.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { type GrantRequest, type GrantedTokens, grantedTokens } from './grant.ts'
import { requestTokens } from '../tokens/token-request.ts'

/**
 * Signs in as the client itself (RFC 6749 section 4.4), with its secret or its private key. Rejects with `OAuthFailure`:
 * `no_registration` when no client is configured, `issuer_changed` when it belongs to another issuer. A refresh token is not wanted: the client can ask again.
 */
export async function signInAsClient(
  { server, scope, previous }: GrantRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<GrantedTokens> {
  const { issuer, token_endpoint: url = '' } = server.metadata
  const client = configuredClient(config, { server, previous })
  const known = previous?.issuer === issuer ? previous.quirks : undefined
  const optional = { resource: server.resource, scope: undefined }
  const answered = await sendWithQuirks(optional, known, ({ resource }) => {
    const parameters = { grant_type: 'client_credentials', scope, resource }
    return requestTokens({ url, issuer, client, parameters, scope }, config, ports, signal)
  })
  const granted = grantedTokens({ client, quirks: {} }, answered, issuer, config)
  const { refreshToken: _unwanted, ...tokens } = granted.tokens
  return { ...granted, tokens }
}

/**
 * The server of a configured token endpoint: nothing is discovered. The endpoint stands for the issuer, also as the audience
 * of a client assertion, and the resource is the URL of the server without its query, which may hold a key.
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
