import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** Throws `invalid_target` unless every indicator is our one resource. An empty one counts as omitted (RFC 6749 section 3.1). */
export function requireOurResource(indicators: readonly string[], resource: string): void {
  if (indicators.every((indicator) => indicator === '' || isOurResource(indicator, resource))) return
  throw new OAuthError('invalid_target', `The only resource here is ${resource}`)
}

/**
 * True when a `resource` indicator (RFC 8707) is our one resource.
 *
 * Accepts spellings that real clients send: case of scheme and host, a default port, one trailing slash, a query, and the bare
 * origin (or base URL) of the resource. Refuses a fragment, as anything else.
 *
 * @internal
 */
export function isOurResource(indicator: string, resource: string): boolean {
  if (indicator.includes('#') || !isUrl(indicator)) return false
  const given = new URL(indicator)
  if (given.username !== '' || given.password !== '') return false
  const own = new URL(resource)
  if (given.origin !== own.origin) return false
  const path = given.pathname.replace(/\/$/, '')
  return path === own.pathname || path === own.pathname.replace(/\/mcp$/, '')
}
