import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { JWTPayload } from 'jose'
import { type LogoutNotice, ProviderError } from '../../core/session/session-provider.ts'
import type { OidcJwtVerifier } from './jwt-verifier.ts'

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
const clockToleranceSeconds = 60
/** Providers send it at once, and retry for some minutes if it does not arrive. */
const maxAgeSeconds = 3600

// Older providers omit the required type.
const types = new Set([undefined, 'jwt', 'logout+jwt', 'application/logout+jwt'])

/**
 * Creates the check of logout tokens (OpenID Connect Back-Channel Logout 1.0 section 2.6): signature, issuer,
 * this client as audience, `iat` within the last hour, `exp` if present, the event, `jti`, a `sub` or `sid`, and no `nonce`, so
 * that an ID token is not accepted. Does not check whether `jti` was received before.
 */
export function createLogoutReader(
  audience: string,
  verify: OidcJwtVerifier,
  runtime: Pick<Runtime, 'now'>,
): (logoutToken: string) => Promise<LogoutNotice> {
  return async (logoutToken) => {
    const { payload, protectedHeader } = await verify(logoutToken, {
      audience,
      requiredClaims: ['iat', 'jti', 'events'],
      clockTolerance: clockToleranceSeconds,
    })
    const type = protectedHeader.typ?.toLowerCase()
    const rule = types.has(type) ? brokenRule(payload, runtime.now()) : 'it has another type'
    if (rule !== undefined) {
      throw new ProviderError('invalid_token', `The logout token is refused: ${rule}.`)
    }
    const { jti, sub } = payload
    return { id: String(jti), sub, sid: payload['sid'] as string | undefined }
  }
}

function brokenRule(claims: JWTPayload, now: number): string | undefined {
  const { iat = 0, jti, sub, nonce, sid } = claims
  if (nonce !== undefined) return 'it has a nonce'
  if (!isLogout(claims)) return 'its event is not a logout'
  if (typeof jti !== 'string' || jti === '') return 'jti is not a string'
  if (iat > now + clockToleranceSeconds) return 'iat is in the future'
  if (iat < now - maxAgeSeconds) return 'it is too old'
  if (!isOptionalText(sub) || !isOptionalText(sid)) return 'sub or sid is not a string'
  return sub === undefined && sid === undefined ? 'it names neither sub nor sid' : undefined
}

function isLogout({ events }: JWTPayload): boolean {
  return isJsonObject(events) && isJsonObject(events[logoutEvent])
}

function isOptionalText(claim: unknown): boolean {
  return claim === undefined || (typeof claim === 'string' && claim !== '')
}
