import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { ProviderError, type ProviderSession } from '../../core/session/session-provider.ts'

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
