import type { DiscoveredServer } from '../discovery/discovery.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { SignInRequest } from '../login-port.ts'

/**
 * The `scope` parameter of a sign-in; undefined when it is left out, so that the server decides (MCP 2026-07-28
 * authorization, scope selection). What the user configured is taken as it is. Else it is what the challenge asks for, or
 * what the protected resource lists, and with it:
 * - what was granted before at the same server, so that asking for more never means losing something;
 * - `offline_access` if the authorization server lists it, and never if it lists scopes without it;
 * - `openid` when the ID token is what is sent.
 */
export function chooseScope(
  request: SignInRequest,
  server: DiscoveredServer,
  config: OAuthConfig,
): string | undefined {
  if (config.scope !== undefined) return scopesOf(config.scope).join(' ') || undefined
  const isIdToken = config.useIdToken && config.grant !== 'client_credentials'
  const challenged = scopesOf(request.challengeScope)
  const base = challenged.length > 0 ? challenged : (server.resourceScopes ?? [])
  if (base.length === 0) return isIdToken ? 'openid' : undefined
  const scopes = [...base, ...grantedBefore(request, server), ...(isIdToken ? ['openid'] : [])]
  const allowed = withOfflineAccess(scopes, server, config)
  return [...new Set(allowed)].join(' ') || undefined
}

/**
 * The `scope` of a registration: what is asked for now, and what the resource may ask for later, because some servers give
 * a client nothing that it was not registered for. What the user configured is taken as it is.
 */
export function registrationScope(
  scope: string | undefined,
  { resourceScopes = [] }: DiscoveredServer,
  config: OAuthConfig,
): string | undefined {
  if (scope === undefined || config.scope !== undefined) return scope
  return [...new Set([...scopesOf(scope), ...resourceScopes])].join(' ')
}

function withOfflineAccess(
  scopes: readonly string[],
  { metadata: { scopes_supported: listed } }: DiscoveredServer,
  { grant }: OAuthConfig,
): readonly string[] {
  if (listed === undefined) return scopes
  if (!listed.includes('offline_access')) return scopes.filter((scope) => scope !== 'offline_access')
  return grant === 'client_credentials' ? scopes : [...scopes, 'offline_access']
}

function grantedBefore({ previous }: SignInRequest, { metadata }: DiscoveredServer): string[] {
  return previous?.issuer === metadata.issuer ? scopesOf(previous.tokens?.scope) : []
}

function scopesOf(scope: string | undefined): string[] {
  return scope?.split(/\s+/).filter((name) => name !== '') ?? []
}
