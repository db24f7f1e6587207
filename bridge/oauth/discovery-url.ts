import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'

/**
 * Whether the bridge may go to `url` because `from` said so: https, or plain http within this machine, or http anywhere
 * when the user allowed it. A server elsewhere cannot point the bridge at plain ports of this machine. No user
 * information, which a careless reader takes for the host.
 */
export function isSafeUrl(url: string, from: string, allowHttp: boolean): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  if (protocol === 'https:') return true
  if (protocol !== 'http:') return false
  return allowHttp || (isLoopbackHostname(hostname) && isLoopbackHostname(new URL(from).hostname))
}

/** Whether a resource that {@link coversServer} covers more than that server: a path above its own, or any query. */
export function coversMore(resource: string, serverUrl: string): boolean {
  const [covered, server] = [new URL(resource), new URL(serverUrl)]
  const pathOf = ({ pathname }: URL): string => pathname.replace(/\/$/, '')
  return pathOf(covered) !== pathOf(server) || covered.search !== server.search
}

/**
 * Whether tokens for `resource` are meant for the server that was asked: the same URL, or the origin or a whole part of
 * the path of it (RFC 9728 section 3.3, MCP 2026-07-28 authorization; the conformance suite takes the prefix too). A final
 * slash and the case of scheme and host make no difference; a query has to be the same where there is one.
 */
export function coversServer(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const [covered, server] = [new URL(resource), new URL(serverUrl)]
  if (covered.username !== '' || covered.password !== '' || covered.origin !== server.origin) return false
  if (covered.search !== '' && covered.search !== server.search) return false
  const path = covered.pathname.replace(/\/$/, '')
  return server.pathname === path || server.pathname.startsWith(`${path}/`)
}
