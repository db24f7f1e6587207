import type { TextResponse } from '@drawbridge/shared/text-response.ts'
import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type ErrorCode, errorTable } from './error-table.ts'
import { contentSecurityPolicy, type PageView } from './pages/layout.ts'
import type { Language } from '../texts/language.ts'
import type { Languages } from '../texts/languages.ts'

const noStore = { 'cache-control': 'no-store' }

/** Headers of token responses and their like (RFC 6749 section 5.1). */
export const noCache: Readonly<Record<string, string>> = { ...noStore, pragma: 'no-cache' }

/** Returns an uncacheable JSON response. */
export function json(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): TextResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', ...noStore, ...headers },
    body: JSON.stringify(body),
  }
}

/** Returns a response without content that must not be cached. */
export function empty(status: number): TextResponse {
  return { status, headers: { ...noCache }, body: null }
}

/** Chooses the language of a page: from its link's `ui_locales`, or else from the browser. */
export function pageLanguage(request: Request, languages: Languages): Language {
  const uiLocales = new URL(request.url).searchParams.get('ui_locales')
  return languages.choose(uiLocales, request.headers.get('accept-language'))
}

/** Returns an HTML page in its look and language: never cached, so that it need not vary, nor framed, and it loads nothing. */
export function page(
  html: string,
  { language, look }: PageView,
  status = 200,
  headers: Record<string, string> = {},
): Response {
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-language': language.tag,
      'content-security-policy': contentSecurityPolicy(look),
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
  return new Response(null, { status: 303, headers: { location, ...noStore, ...headers } })
}

const defaultWaitSeconds: Readonly<Record<number, number>> = { 429: 60, 503: 5 }

/**
 * Returns `Retry-After` (RFC 9110 section 10.2.3) where trying again later helps: `seconds` if known, otherwise a minute (429) or
 * five seconds (503).
 */
export function retryHeaders(status: number, seconds?: number): Record<string, string> {
  const wait = defaultWaitSeconds[status]
  return wait === undefined ? {} : { 'retry-after': String(seconds ?? wait) }
}

/** Returns the error `code` as JSON, in the shape of RFC 6749 section 5.2. */
export function httpError(code: ErrorCode, headers: Record<string, string> = {}): TextResponse {
  const { status, message, nextStep } = errorTable[code]
  const body = { error: code, error_description: `${message} ${nextStep}` }
  return json(body, status, { ...retryHeaders(status), ...headers })
}

/** Returns a protocol failure as JSON. */
export function oauthFailure(error: OAuthError, headers: Record<string, string> = {}): TextResponse {
  const { status, retryAfterSeconds } = error
  return json(oauthErrorBody(error), status, { ...retryHeaders(status, retryAfterSeconds), ...headers })
}

/**
 * Returns 429 for requests over a limit (RFC 6585 section 4). OAuth has no code for it; `temporarily_unavailable` is the closest
 * registered one.
 */
export function tooManyRequests(description: string, retryAfterSeconds: number): TextResponse {
  return oauthFailure(
    new OAuthError('temporarily_unavailable', description, { status: 429, retryAfterSeconds }),
  )
}
