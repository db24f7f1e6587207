import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { JWTPayload } from 'jose'
import type { Identity, LogoutNotice } from '../../core/session/session-provider.ts'
import { limitVouching, requireRules, textClaim } from '../jwt.ts'
import type { ConnectToOidc } from './oidc-connection.ts'
import { identityOfClaims } from './oidc-identity.ts'
import { type OidcJwtVerifier, vouchByUserinfo } from './jwt-verifier.ts'

/** How far the provider's clock may be off; `exp` of an access token counts to the second. */
const clockToleranceSeconds = 60

/**
 * Creates the check of JWT access tokens that the issuer made for `audience`: signature, issuer, audience, time
 * to the second, and that it is a user's access token. Refuses ID tokens, tokens of a client acting for itself, and tokens bound to
 * a key that cannot be seen here. Does not check whether the session has since been signed out, nor which client it was issued to:
 * `audience` must be one meant for this server.
 */
export function createOidcTokenVerifier(
  { issuer, audience }: { issuer: string; audience: string },
  verify: OidcJwtVerifier,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now'>,
): (accessToken: string) => Promise<Identity> {
  const vouch = limitVouching(vouchByUserinfo(connect), runtime)
  return async (accessToken) => {
    const rules = { audience, requiredClaims: ['exp', 'sub'], clockTolerance: clockToleranceSeconds, vouch }
    const { payload, protectedHeader } = await verify(accessToken, rules)
    requireRules(payload, runtime.now(), [
      [(payload.exp ?? 0) > runtime.now(), 'it has expired'],
      [isAccessToken(payload, protectedHeader.typ?.toLowerCase()), 'it is not an access token'],
      [textClaim(payload.sub) !== undefined, 'sub is not a string'],
      [!isOfClient(payload), 'it belongs to a client, not to a user'],
      [payload['cnf'] === undefined, 'it is bound to a key'],
    ])
    return identityOfClaims(payload, issuer, Math.floor(payload.exp ?? 0))
  }
}

/**
 * RFC 9068 gives access tokens their own type. Earlier ones have a scope, which ID tokens lack; Keycloak puts the kind of every
 * token in a claim.
 */
function isAccessToken(claims: JWTPayload, type: string | undefined): boolean {
  if (claims['typ'] !== undefined && claims['typ'] !== 'Bearer') return false
  if (type === 'at+jwt' || type === 'application/at+jwt') return true
  return (type === undefined || type === 'jwt') && (claims['scope'] ?? claims['scp']) !== undefined
}

// The subject of a client credentials grant is the client itself (RFC 9068 section 2.2); Auth0 adds a suffix.
function isOfClient(claims: JWTPayload): boolean {
  const clients = ['client_id', 'azp', 'cid']
    .map((name) => claims[name])
    .filter((id) => typeof id === 'string')
  return clients.some((id) => claims.sub === id || claims.sub === `${id}@clients`)
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
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
    const { iat = 0, jti, sub, nonce, sid } = payload
    const rules = [
      [types.has(protectedHeader.typ?.toLowerCase()), 'it has another type'],
      [nonce === undefined, 'it has a nonce'],
      [isLogout(payload), 'its event is not a logout'],
      [textClaim(jti) !== undefined, 'jti is not a string'],
      [iat >= runtime.now() - maxAgeSeconds, 'it is too old'],
      [isOptionalText(sub) && isOptionalText(sid), 'sub or sid is not a string'],
      [sub !== undefined || sid !== undefined, 'it names neither sub nor sid'],
    ] as const
    requireRules(payload, runtime.now(), rules, 'logout token')
    return { id: String(jti), sub, sid: textClaim(sid) }
  }
}

function isLogout({ events }: JWTPayload): boolean {
  return isJsonObject(events) && isJsonObject(events[logoutEvent])
}

function isOptionalText(claim: unknown): boolean {
  return claim === undefined || textClaim(claim) !== undefined
}
