import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

const extensionSchemes = new Set(['chrome-extension:', 'moz-extension:', 'safari-web-extension:'])

/**
 * Cuts host and path out of the URL of a request, which is normalised: a `new URL` would take longer than finding the route. An
 * encoded character stays encoded, and callers decode it once.
 */
export function splitUrl(url: string): { host: string; path: string } {
  const start = url.indexOf('://') + 3
  const slash = url.indexOf('/', start)
  const end = url.slice(slash).search(/[?#]/)
  return {
    host: url.slice(start, slash),
    path: end === -1 ? url.slice(slash) : url.slice(slash, slash + end),
  }
}

/**
 * Returns whether requests are for this server, by both their URL and their Host header: it stops rebound DNS names. Ignores
 * forwarding headers.
 */
export function createHostGuard(baseUrl: string): (request: Request) => boolean {
  const base = new URL(baseUrl)
  const isOwn = (host: string): boolean => isHostOf(base, host)
  return (request) => {
    const host = request.headers.get('host')
    const target = splitUrl(request.url).host
    if (host !== null && host !== target && !isOwn(host)) return false
    // RFC 9112 section 3.2.2: the host of a target in absolute form counts.
    return isOwn(target)
  }
}

/** True for the same host, or, with a loopback base URL, any loopback name with the same port. */
function isHostOf(own: URL, host: string): boolean {
  // Most requests: nothing to parse.
  if (host === own.host) return true
  const url = isUrl(`${own.protocol}//${host}`) ? new URL(`${own.protocol}//${host}`) : undefined
  if (url === undefined || url.pathname !== '/' || url.username !== '' || url.search !== '') return false
  if (url.host === own.host) return true
  return isLoopbackHostname(own.hostname) && isLoopbackHostname(url.hostname) && url.port === own.port
}

/** The permissions of an `Origin` header at `/mcp`. */
export type OriginTrust = 'absent' | 'trusted' | 'bearer_only' | 'foreign'

/**
 * Classifies an `Origin` (MCP 2026-07-28 transport security): `trusted` origins may use the cookie; loopback pages and browser
 * extensions may use a bearer token; other pages may do nothing.
 */
export function judgeOrigin(origin: string | null, allowedOrigins: readonly string[]): OriginTrust {
  if (origin === null) return 'absent'
  if (allowedOrigins.includes(origin.toLowerCase())) return 'trusted'
  if (!isUrl(origin)) return 'foreign'
  const { protocol, hostname } = new URL(origin)
  if (extensionSchemes.has(protocol)) return 'bearer_only'
  const loopback = /^https?:$/.test(protocol) && isLoopbackHostname(hostname)
  return loopback ? 'bearer_only' : 'foreign'
}

/**
 * Returns whether a request may use the session cookie.
 *
 * The origin of a page's request must be trusted. A request without `Origin` does not come from a page: browsers send it with every
 * cross-origin and every POST request. `Sec-Fetch-Site` and `Sec-Fetch-Mode`, if sent, must agree.
 */
export function mayUseCookie(request: Request, trust: OriginTrust): boolean {
  if (trust !== 'absent' && trust !== 'trusted') return false
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && !['same-origin', 'same-site', 'none'].includes(site)) return false
  const mode = request.headers.get('sec-fetch-mode')
  return mode !== 'navigate' && mode !== 'no-cors'
}

/** Returns whether a form post comes from our own page: `Origin`, if sent, and `Sec-Fetch-Site` must say so. */
export function isOwnFormPost(request: Request, baseUrl: string): boolean {
  const origin = request.headers.get('origin')
  if (origin !== null && !isOwnOrigin(origin, baseUrl)) return false
  const site = request.headers.get('sec-fetch-site')
  return site === null || site === 'same-origin' || site === 'none'
}

function isOwnOrigin(origin: string, baseUrl: string): boolean {
  if (!isUrl(origin)) return false
  const { protocol, host } = new URL(origin)
  const own = new URL(baseUrl)
  return protocol === own.protocol && isHostOf(own, host)
}
