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
 * Reads the session in a response of the auth API, its expiry counted from our own clock: the provider's may differ. Throws
 * `protocol`, outcome unknown, for anything else: the provider did issue something. Does not verify the tokens.
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
 * Reads the state at `now` of the session whose access token requested `GET /user`; undefined for an unclear response, such as a
 * page of a gateway or a refused API key.
 */
export function readLife(answer: GotrueAnswer, now: number): SessionLife | undefined {
  if (answer.kind === 'success') return isJsonObject(answer.body) ? lifeOfUser(answer.body, now) : undefined
  if (saysEnded(answer)) return 'ended'
  return saysTokenRefused(answer) ? 'token_refused' : undefined
}

/** Reads the user of a `GET /user` response, as the claims of an access token; undefined if it is not a user. */
export function readUserClaims(answer: GotrueAnswer): Claims | undefined {
  if (answer.kind !== 'success' || !isJsonObject(answer.body)) return undefined
  const { email, phone, app_metadata, user_metadata } = answer.body
  return { email, phone, app_metadata, user_metadata }
}

function lifeOfUser(
  { id, banned_until: bannedUntil }: Record<string, unknown>,
  now: number,
): SessionLife | undefined {
  if (typeof id !== 'string') return undefined
  // Releases before 2026 return a banned user too, and refuse only the refresh.
  const isBanned = typeof bannedUntil === 'string' && Date.parse(bannedUntil) > now * 1000
  return isBanned ? 'ended' : 'live'
}
