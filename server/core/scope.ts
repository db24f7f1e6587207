/** The scope that lets a client call tools as the user. */
export const toolScope = 'mcp'

/** Scopes named in protected resource metadata and challenges. `offline_access` never is (MCP 2026-07-28 authorization). */
export const resourceScopes: readonly string[] = [toolScope]

/** Scopes named in authorization server metadata. */
export const authorizationServerScopes: readonly string[] = [...resourceScopes, 'offline_access']

/**
 * Scopes granted for what a client asked: the known ones in our order, unknown ones dropped (RFC 6749 section 3.3),
 * all resource scopes when nothing known was asked for. Clients send OpenID scopes by habit; that must not fail.
 */
export function grantScope(requested: string | undefined): string {
  const asked = new Set((requested ?? '').split(' ').filter(Boolean))
  const granted = authorizationServerScopes.filter((scope) => asked.has(scope))
  const tools = resourceScopes.some((scope) => granted.includes(scope))
  return (tools ? granted : [...resourceScopes, ...granted]).join(' ')
}

/**
 * Scope of a refreshed token: never more than the grant's, less when `requested` names a part of it that is of use.
 *
 * As at authorization, unknown scopes are dropped, and a request that names none of the resource's scopes keeps them
 * all: clients repeat there what they once asked for, and must not be signed out for it.
 */
export function narrowScope(granted: string, requested: string | undefined): string {
  const asked = new Set((requested ?? '').split(' '))
  const kept = granted.split(' ').filter((scope) => asked.has(scope))
  return kept.some((scope) => resourceScopes.includes(scope)) ? kept.join(' ') : granted
}
