import { withoutSignIn } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * Returns whether the bridge may follow a URL given by `from`: https, plain http within this machine, or anywhere if the user
 * allowed it. Rejects user information, which careless readers mistake for the host.
 */
export function isSafeUrl(url: string, from: string, { allowHttp }: { allowHttp: boolean }): boolean {
  if (!isUrl(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  if (protocol === 'https:') return true
  if (protocol !== 'http:') return false
  return allowHttp || (isLoopbackHostname(hostname) && isLoopbackHostname(new URL(from).hostname))
}

/** Returns whether both are URLs of the same origin. */
export function isSameOrigin(url: string | undefined, other: string | undefined): boolean {
  if (url === undefined || other === undefined || !isUrl(url) || !isUrl(other)) return false
  return new URL(url).origin === new URL(other).origin
}

/** Returns whether a resource covers more than the server: a parent path, or any query. */
export function coversMore(resource: string, serverUrl: string): boolean {
  const [covered, server] = [new URL(resource), withoutSignIn(serverUrl)]
  const pathOf = ({ pathname }: URL): string => pathname.replace(/\/$/, '')
  return pathOf(covered) !== pathOf(server) || covered.search !== server.search
}

/**
 * Returns whether tokens for `resource` are meant for the server: it is the same URL, its origin, or a prefix of whole path
 * segments (RFC 9728 section 3.3, MCP 2026-07-28 authorization). A query has to match where there is one.
 */
export function coversServer(resource: string, serverUrl: string): boolean {
  if (!isUrl(resource) || resource.includes('#')) return false
  const [covered, server] = [new URL(resource), new URL(serverUrl)]
  if (covered.username !== '' || covered.password !== '' || covered.origin !== server.origin) return false
  if (covered.search !== '' && covered.search !== server.search) return false
  const path = covered.pathname.replace(/\/$/, '')
  return server.pathname === path || server.pathname.startsWith(`${path}/`)
}
