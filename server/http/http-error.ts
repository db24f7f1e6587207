import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { json } from './response.ts'

/** Codes of refusals that no OAuth registry names. */
export type HttpErrorCode =
  | 'unauthorized'
  | 'forbidden_origin'
  | 'forbidden_cookie'
  | 'misdirected_request'
  | 'not_found'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'content_too_large'
  | 'too_many_requests'
  | 'temporarily_unavailable'
  | 'server_error'

/** What a refusal says: as JSON the message and the next step, to a person as a page. */
export interface HttpErrorText {
  status: number
  title: string
  message: string
  nextStep: string
}

/** Every refusal that no OAuth registry names, with its next step. */
export const httpErrors: Readonly<Record<HttpErrorCode, HttpErrorText>> = {
  unauthorized: {
    status: 401,
    title: 'Signing in is needed',
    message: 'This request carries no credential.',
    nextStep: 'Sign in through OAuth; the WWW-Authenticate header says where to begin.',
  },
  forbidden_origin: {
    status: 403,
    title: 'This page may not call here',
    message: 'Pages of this origin may not call this server.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours.',
  },
  forbidden_cookie: {
    status: 403,
    title: 'The session cookie cannot be used here',
    message: 'The session cookie is for same-site script requests of trusted origins only.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours, or send a bearer token.',
  },
  misdirected_request: {
    status: 421,
    title: 'This is another host',
    message: 'This server does not answer for that host name.',
    nextStep: 'Use the host of BASE_URL; a reverse proxy must pass the Host header on.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here',
    message: 'There is nothing at this address.',
    nextStep: 'To connect an MCP client, give it the address that ends in /mcp.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This cannot be opened like that',
    message: 'This address does not take that HTTP method.',
    nextStep: 'Use a method that the Allow header names.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'This form of content is not understood',
    message: 'The message is not of the type application/json.',
    nextStep: 'Send JSON with the header Content-Type: application/json.',
  },
  content_too_large: {
    status: 413,
    title: 'This is too large',
    message: 'The message is larger than 4 MiB.',
    nextStep: 'Send less at once.',
  },
  too_many_requests: {
    status: 429,
    title: 'Too many requests were refused',
    message: 'Too many requests from your address had to be refused.',
    nextStep: 'Wait for the seconds that Retry-After names, and see what the earlier answers say.',
  },
  temporarily_unavailable: {
    status: 503,
    title: 'Not possible right now',
    message: 'Something that this server depends on cannot be reached. Nothing is lost.',
    nextStep: 'Try again after the seconds that Retry-After names.',
  },
  server_error: {
    status: 500,
    title: 'Something went wrong here',
    message: 'The server failed at this request.',
    nextStep: 'Try again; if it stays, report the request id of the X-Request-Id header.',
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
