import type { CorsAudience } from './endpoint.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'

// Browsers must not render anything from a response that is not a page.
const bareHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}

/** Pages that a client may open in a separate window, which must reach the page that opened it. */
const openedByClients = /\/(?:authorize|oauth\/callback)$/

const exposedHeaders = 'WWW-Authenticate, Retry-After, MCP-Protocol-Version, Mcp-Session-Id'

/**
 * Returns what adds to a reply what every response under a base URL has: the id of the request, the headers that keep browsers from
 * using a response in any way but the intended one, and CORS, for the pages of `audience`. The policy of a page stays.
 *
 * `Cross-Origin-Opener-Policy` is omitted where clients sign in through a window that they open: it would cut that window off from
 * them for good. `Cross-Origin-Resource-Policy` allows what every page may read anyway.
 *
 * Every response has the CORS headers, errors included: a page must be able to read a challenge, and browser clients that probe for
 * documents must be able to read that a path is unknown. `cors` and `secure-headers` of Hono cannot do this: credentials depend on
 * the request here, and both would build the headers of a response that is only text.
 */
export function createFinisher(
  baseUrl: string,
): (reply: Reply, about: { requestId: string; path: string; audience: CorsAudience }) => Response {
  const everywhere = {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(baseUrl.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000' }),
  }
  const forNone = { ...everywhere, 'cross-origin-resource-policy': 'same-origin' }
  const forEveryone = {
    ...everywhere,
    'cross-origin-resource-policy': 'cross-origin',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': exposedHeaders,
  }
  const commonHeaders = (audience: CorsAudience, vary: string | undefined): Record<string, string> => {
    if (audience.kind !== 'origin') return { ...(audience.kind === 'everyone' ? forEveryone : forNone) }
    return {
      ...forNone,
      'access-control-allow-origin': audience.origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': exposedHeaders,
      vary: vary === undefined ? 'Origin' : `${vary}, Origin`,
    }
  }
  return (reply, { requestId, path, audience }) => {
    const common = commonHeaders(audience, headerOf(reply, 'vary'))
    common['x-request-id'] = requestId
    const isPage = headerOf(reply, 'content-security-policy') !== undefined
    if (isPage && !openedByClients.test(path)) common['cross-origin-opener-policy'] = 'same-origin'
    const missing: Readonly<Record<string, string>> = isPage ? {} : bareHeaders
    if (!(reply instanceof Response)) {
      return new Response(reply.body, {
        status: reply.status,
        headers: { ...missing, ...reply.headers, ...common },
      })
    }
    for (const [name, value] of Object.entries(missing)) {
      if (!reply.headers.has(name)) reply.headers.set(name, value)
    }
    for (const [name, value] of Object.entries(common)) reply.headers.set(name, value)
    return reply
  }
}

function headerOf(reply: Reply, name: string): string | undefined {
  return reply instanceof Response ? (reply.headers.get(name) ?? undefined) : reply.headers[name]
}
