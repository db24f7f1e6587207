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
 * Scope of a refreshed token: undefined `requested` keeps the grant's, a subset narrows.
 * Answers undefined when `requested` holds nothing of the grant (RFC 6749 section 6: invalid_scope).
 */
export function narrowScope(granted: string, requested: string | undefined): string | undefined {
  if (requested === undefined) return granted
  const asked = new Set(requested.split(' '))
  const kept = granted.split(' ').filter((scope) => asked.has(scope))
  return kept.length > 0 ? kept.join(' ') : undefined
}
