import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type HttpErrorCode, httpErrors } from './error-table.ts'
import { pageContentSecurityPolicy } from './pages/layout.ts'

const noStore = { 'cache-control': 'no-store' }

/** Returns an uncacheable JSON response. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...noStore, ...headers },
  })
}

/** Returns an HTML page: never cached or framed, and it loads nothing. */
export function page(html: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': pageContentSecurityPolicy,
      'x-frame-options': 'DENY',
      // Keeps Origin on our own form posts, which `no-referrer` would remove, and sends nothing to other sites.
      'referrer-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      ...noStore,
      ...headers,
    },
  })
}

/** Redirects the browser with a GET, whatever the method was. */
export function redirect(location: string, headers: Record<string, string> = {}): Response {
  return new Response(null, {
    status: 303,
    headers: { location, 'referrer-policy': 'no-referrer', ...noStore, ...headers },
  })
}

/** Returns the error `code` as JSON, in the shape of RFC 6749 section 5.2. */
export function httpError(code: HttpErrorCode, headers: Record<string, string> = {}): Response {
  const { status, message, nextStep } = httpErrors[code]
  return json({ error: code, error_description: `${message} ${nextStep}` }, status, headers)
}

/** Returns a temporary failure, with the seconds after which to try again (RFC 9110 section 10.2.3). */
export function retryLater(error: OAuthError, seconds: number): Response {
  return json(oauthErrorBody(error), error.status, { 'retry-after': String(seconds) })
}

/**
 * Returns 429 for requests over a limit (RFC 6585 section 4). OAuth has no code for it; `temporarily_unavailable` is the closest
 * registered one.
 */
export function tooManyRequests(description: string, seconds: number): Response {
  return retryLater(new OAuthError('temporarily_unavailable', description, { status: 429 }), seconds)
}
