import type { CorsAudience } from './cors.ts'

// What a browser makes of an answer that is no page: nothing at all.
const bareContentSecurityPolicy = "default-src 'none'; frame-ancestors 'none'"

/** Pages that a client may open in a window of its own, which must find its way back to the page that opened it. */
const openedByClients = /\/(?:authorize|oauth\/callback)$/

/**
 * Adds the headers that keep browsers from using an answer in any other way than it is meant. What the answer has already
 * stays. `pathname` is the path of the endpoint, `audience` who may read the answer from elsewhere.
 *
 * `Cross-Origin-Opener-Policy` is left out where clients sign in through a window that they open: it would cut that
 * window off from them for good. `Cross-Origin-Resource-Policy` allows what every page may read anyway.
 */
export function addSecurityHeaders(
  headers: Headers,
  answer: { pathname: string; audience: CorsAudience; strictTransport: boolean },
): void {
  headers.set('x-content-type-options', 'nosniff')
  headers.set(
    'cross-origin-resource-policy',
    answer.audience.kind === 'everyone' ? 'cross-origin' : 'same-origin',
  )
  if (answer.strictTransport) headers.set('strict-transport-security', 'max-age=31536000')
  const isPage = headers.has('content-security-policy')
  if (isPage) {
    if (!openedByClients.test(answer.pathname)) headers.set('cross-origin-opener-policy', 'same-origin')
    return
  }
  headers.set('content-security-policy', bareContentSecurityPolicy)
  headers.set('x-frame-options', 'DENY')
  if (!headers.has('referrer-policy')) headers.set('referrer-policy', 'no-referrer')
}
