import type { MiddlewareHandler } from 'hono'
import type { HttpEnv } from '../endpoint.ts'

// Browsers must not render anything from a response that is not a page.
const bareContentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'"

/** Pages that a client may open in a window of its own, which must find its way back to the page that opened it. */
const openedByClients = /\/(?:authorize|oauth\/callback)$/

/**
 * Adds the headers that keep browsers from using a response in any way but the intended one. Keeps a page's own policy, which
 * Hono's `secure-headers` would replace.
 *
 * `Cross-Origin-Opener-Policy` is omitted where clients sign in through a window that they open: it would cut that window off from
 * them for good. `Cross-Origin-Resource-Policy` allows what every page may read anyway.
 */
export function securityHeaders(baseUrl: string): MiddlewareHandler<HttpEnv> {
  const strictTransport = baseUrl.startsWith('https:')
  return async (c, next) => {
    await next()
    const { headers } = c.res
    const isPublic = c.get('audience').kind === 'everyone'
    headers.set('x-content-type-options', 'nosniff')
    headers.set('cross-origin-resource-policy', isPublic ? 'cross-origin' : 'same-origin')
    if (strictTransport) headers.set('strict-transport-security', 'max-age=31536000')
    if (headers.has('content-security-policy')) {
      if (!openedByClients.test(c.req.path)) headers.set('cross-origin-opener-policy', 'same-origin')
      return
    }
    headers.set('content-security-policy', bareContentSecurityPolicy)
    headers.set('x-frame-options', 'DENY')
    if (!headers.has('referrer-policy')) headers.set('referrer-policy', 'no-referrer')
  }
}
