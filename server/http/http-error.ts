import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { json } from './response.ts'

/** Error codes that are not in the OAuth registry. */
export type HttpErrorCode =
  | 'unauthorized'
  | 'forbidden_origin'
  | 'forbidden_cookie'
  | 'access_denied'
  | 'misdirected_request'
  | 'not_found'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'content_too_large'
  | 'too_many_requests'
  | 'temporarily_unavailable'
  | 'server_error'

/** What a refusal says: in JSON the message and the next step, in a browser a whole page. */
export interface HttpErrorText {
  status: number
  title: string
  message: string
  nextStep: string
}

/** The texts of these refusals. */
export const httpErrors: Readonly<Record<HttpErrorCode, HttpErrorText>> = {
  unauthorized: {
    status: 401,
    title: 'Sign-in required',
    message: 'This request has no access token.',
    nextStep: 'Sign in with OAuth; the WWW-Authenticate header says where to start.',
  },
  forbidden_origin: {
    status: 403,
    title: 'Origin not allowed',
    message: 'Web pages of this origin are not allowed to call this server.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours.',
  },
  forbidden_cookie: {
    status: 403,
    title: 'Session cookie not accepted',
    message: 'The session cookie is only accepted from scripts on trusted origins of the same site.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours, or send a bearer token.',
  },
  access_denied: {
    status: 403,
    title: 'Access denied',
    message: 'This account may not use this server.',
    nextStep: 'Ask the owner of the web app, or use another account.',
  },
  misdirected_request: {
    status: 421,
    title: 'Wrong host name',
    message: 'This server does not serve that host name.',
    nextStep: 'Use the host of BASE_URL. A reverse proxy must forward the Host header.',
  },
  not_found: {
    status: 404,
    title: 'Page not found',
    message: 'There is no page at this address.',
    nextStep: 'To connect an MCP client, use the address that ends in /mcp.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    message: 'This address does not support that HTTP method.',
    nextStep: 'Use a method listed in the Allow header.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Content type not supported',
    message: 'The content type of the message is not application/json.',
    nextStep: 'Send JSON with the header Content-Type: application/json.',
  },
  content_too_large: {
    status: 413,
    title: 'Message too large',
    message: 'The message is larger than 4 MiB.',
    nextStep: 'Send a smaller message.',
  },
  too_many_requests: {
    status: 429,
    title: 'Too many failed requests',
    message: 'Too many requests from your address failed.',
    nextStep: 'Wait as many seconds as Retry-After says, and check the earlier error messages.',
  },
  temporarily_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    message: 'A service that this server depends on cannot be reached. Nothing is lost.',
    nextStep: 'Try again after as many seconds as Retry-After says.',
  },
  server_error: {
    status: 500,
    title: 'Something went wrong',
    message: 'The server could not process this request.',
    nextStep: 'Try again. If it happens again, report the request ID from the X-Request-Id header.',
  },
}

/** The refusal `code` as JSON, in the shape of RFC 6749 section 5.2. */
export function httpError(code: HttpErrorCode, headers: Record<string, string> = {}): Response {
  const { status, message, nextStep } = httpErrors[code]
  return json({ error: code, error_description: `${message} ${nextStep}` }, status, headers)
}

/** A temporary failure, with the seconds after which to try again (RFC 9110 section 10.2.3). */
export function retryLater(error: OAuthError, seconds: number): Response {
  return json(oauthErrorBody(error), error.status, { 'retry-after': String(seconds) })
}

/**
 * 429 for requests over a limit (RFC 6585 section 4). OAuth has no code for it; `temporarily_unavailable` is the closest
 * registered one.
 */
export function tooManyRequests(description: string, seconds: number): Response {
  return retryLater(new OAuthError('temporarily_unavailable', description, { status: 429 }), seconds)
}
