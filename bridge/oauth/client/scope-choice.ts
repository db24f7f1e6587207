import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { DiscoveredServer } from '../discovery/discovery.ts'
import type { SignInRequest } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'

/**
 * Returns the `scope` parameter of a sign-in, or undefined to let the server decide (MCP 2026-07-28 authorization,
 * scope selection). A configured scope is used unchanged. Otherwise it is the scope of the challenge, or those that
 * the protected resource lists, and in addition:
 * - the scopes granted before at the same server, so that asking for more never loses any;
 * - `offline_access` if the authorization server lists it, and never if it lists scopes without it;
 * - `openid` when the ID token is sent.
 */
export function chooseScope(
  { challengeScope, previous }: SignInRequest,
  { metadata, resourceScopes = [] }: DiscoveredServer,
  config: OAuthConfig,
): string | undefined {
  if (config.scope !== undefined) return scopesOf(config.scope).join(' ') || undefined
  const hasUser = config.grant !== 'client_credentials'
  const openid = config.useIdToken && hasUser ? ['openid'] : []
  const challenged = scopesOf(challengeScope)
  const base = challenged.length > 0 ? challenged : resourceScopes
  if (base.length === 0) return openid[0]
  const scopes = withOfflineAccess(
    [...base, ...grantedBy(metadata.issuer, previous), ...openid],
    metadata.scopes_supported,
    hasUser,
  )
  return [...new Set(scopes)].join(' ') || undefined
}

function grantedBy(issuer: string, previous: SignInRequest['previous']): readonly string[] {
  return isSameIssuer(previous?.issuer, issuer) ? scopesOf(previous?.tokens?.scope) : []
}

function withOfflineAccess(
  scopes: readonly string[],
  listed: readonly string[] | undefined,
  hasUser: boolean,
): readonly string[] {
  if (listed === undefined) return scopes
  if (!listed.includes('offline_access')) return scopes.filter((scope) => scope !== 'offline_access')
  return hasUser ? [...scopes, 'offline_access'] : scopes
}

/**
 * Returns the `scope` of a registration: the scopes requested now and those that the resource may request later,
 * because some servers grant only registered scopes. A configured scope is used unchanged.
 */
export function registrationScope(
  scope: string | undefined,
  { resourceScopes = [] }: DiscoveredServer,
  config: OAuthConfig,
): string | undefined {
  if (scope === undefined || config.scope !== undefined) return scope
  return [...new Set([...scopesOf(scope), ...resourceScopes])].join(' ')
}

function scopesOf(scope: string | undefined): string[] {
  return scope?.split(/\s+/).filter((name) => name !== '') ?? []
}
