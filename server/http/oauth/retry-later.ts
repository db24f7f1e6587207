import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { json } from '../response.ts'

/** A failure that passes by itself, with the seconds after which to ask again (RFC 9110 section 10.2.3). */
export function retryLater(error: OAuthError, seconds: number): Response {
  return json(oauthErrorBody(error), error.status, { 'retry-after': String(seconds) })
}

/**
 * 429 for what is over a limit (RFC 6585 section 4), as `temporarily_unavailable`: of the registered codes it comes nearest, as
 * OAuth has none for it.
 */
export function tooManyRequests(description: string, seconds: number): Response {
  return retryLater(new OAuthError('temporarily_unavailable', description, { status: 429 }), seconds)
}
