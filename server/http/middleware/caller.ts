import type { CallerPorts, CallerReader } from '../../core/tokens/caller-reader.ts'
import type { CallerResult } from '../../core/tokens/caller.ts'
import { parseCookieHeader, type WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { isSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { CorsAudience, RequestContext } from '../endpoint.ts'
import { requestedHeaders } from './cors.ts'
import { judgeOrigin, mayUseCookie } from './guards.ts'
import { httpError } from '../response.ts'

/** Where callers may come from, and how their credentials are read. */
export interface CallerSource {
  allowedOrigins: readonly string[]
  callers: CallerPorts
}

/** Only cookie calls of trusted origins need credentials; a call with a bearer token does not. */
export function audienceOf(request: Request, allowedOrigins: readonly string[]): CorsAudience {
  const origin = request.headers.get('origin')
  const trust = judgeOrigin(origin, allowedOrigins)
  if (trust === 'foreign') return { kind: 'none' }
  const bearer =
    request.headers.has('authorization') ||
    (request.method === 'OPTIONS' && requestedHeaders(request).includes('authorization'))
  return trust === 'trusted' && origin !== null && !bearer ? { kind: 'origin', origin } : { kind: 'everyone' }
}

/** Reads the caller of a request once its origin allows that: from the header, without one from the session cookies. */
export async function findCaller(
  request: Request,
  context: RequestContext,
  readers: CallerReader,
  { allowedOrigins, callers }: CallerSource,
): Promise<CallerResult | { kind: 'refused'; reply: Reply }> {
  const origin = judgeOrigin(request.headers.get('origin'), allowedOrigins)
  if (origin === 'foreign') {
    context.report('origin_refused')
    return { kind: 'refused', reply: httpError('forbidden_origin') }
  }
  const authorization = request.headers.get('authorization')
  if (authorization !== null) return readers.fromAuthorization(authorization)
  const cookies = sessionCookies(request, callers)
  if (cookies.length > 0 && !mayUseCookie(request, origin)) {
    context.report('cookie_refused')
    return { kind: 'refused', reply: httpError('forbidden_cookie') }
  }
  return readers.fromCookies(cookies)
}

function sessionCookies(request: Request, { sessionTokens, cookieName: name }: CallerPorts): WireCookie[] {
  if (!sessionTokens) return []
  return parseCookieHeader(request.headers.get('cookie') ?? '').filter((cookie) =>
    isSessionCookieName(cookie.name, { name }),
  )
}

/** Returns the bearer token of a request as it was sent; empty without one. */
export function bearerOf({ headers }: Request): string {
  return /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1] ?? ''
}
