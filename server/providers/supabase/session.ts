import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  type Claims,
  ProviderError,
  type ProviderSession,
  type SessionLife,
} from '../../core/session/session-provider.ts'
import type { GotrueAnswer } from './call.ts'
import { saysEnded, saysTokenRefused } from './failure.ts'

/**
 * The session in an answer of the auth API, its end counted from our own clock: the provider's may differ. Throws
 * `protocol`, outcome unknown, for anything else: the provider did issue something. The tokens are not verified.
 */
export function readSession(body: unknown, now: number): ProviderSession {
  const given = isJsonObject(body) ? body : {}
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = given
  if (!isText(accessToken) || !isText(refreshToken) || typeof expiresIn !== 'number') {
    throw unreadable('a session without its tokens')
  }
  if (!(expiresIn >= 1)) throw unreadable('a session that has already ended')
  return { accessToken, refreshToken, expiresAt: now + Math.floor(expiresIn) }
}

function unreadable(what: string): ProviderError {
  return new ProviderError('protocol', `The auth API answered ${what}.`, { outcomeKnown: false })
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/**
 * What the answer to `GET /user` says about the session whose access token asked, at `now`; undefined when it says
 * nothing clear, such as a page of a gateway or the refusal of an API key.
 */
export function readLife(answer: GotrueAnswer, now: number): SessionLife | undefined {
  if (answer.kind === 'success') return isJsonObject(answer.body) ? lifeOfUser(answer.body, now) : undefined
  if (saysEnded(answer)) return 'ended'
  return saysTokenRefused(answer) ? 'token_refused' : undefined
}

/** What the answer to `GET /user` says about the person, as the claims of an access token would; undefined when it is not a user. */
export function readUserClaims(answer: GotrueAnswer): Claims | undefined {
  if (answer.kind !== 'success' || !isJsonObject(answer.body)) return undefined
  const { email, phone, app_metadata } = answer.body
  return { email, phone, app_metadata }
}

function lifeOfUser(
  { id, banned_until: bannedUntil }: Record<string, unknown>,
  now: number,
): SessionLife | undefined {
  if (typeof id !== 'string') return undefined
  // Releases before 2026 answer a banned user too, and refuse the refresh only.
  const isBanned = typeof bannedUntil === 'string' && Date.parse(bannedUntil) > now * 1000
  return isBanned ? 'ended' : 'live'
}
