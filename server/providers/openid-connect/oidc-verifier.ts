import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { JWTPayload, JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { type Identity, type LogoutNotice, ProviderError } from '../../core/session/session-provider.ts'
import { createKeySet, type KeySet, signatureAlgorithms } from '../jwks.ts'
import { limitVouching, requireRules, textClaim, verifyProviderJwt, type Vouch } from '../jwt.ts'
import type { ConnectToOidc } from './oidc-connection.ts'
import { identityOfClaims } from './oidc-identity.ts'
import { probeOidcSession } from './oidc-session.ts'

interface OidcJwtRules extends Pick<JWTVerifyOptions, 'requiredClaims' | 'clockTolerance'> {
  audience: string
  /** Decides where the key is not known here; by default it is `transient`. */
  vouch?: Vouch
  /** The provider itself issued it just now. */
  isFromProvider?: boolean
}

/**
 * Checks a JWT of the issuer: signature by any asymmetric algorithm with a key that it publishes, issuer, audience, and time. Rejects
 * with `invalid_token`, or with `transient` when that cannot be decided now.
 */
export type OidcJwtVerifier = (jwt: string, rules: OidcJwtRules) => Promise<JWTVerifyResult>

/** Creates the one check of ID tokens, access tokens and logout tokens, so that each is taken with the same algorithms and keys. */
export function createOidcJwtVerifier(
  issuer: string,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): OidcJwtVerifier {
  let keys: { url: string; set: KeySet } | undefined

  async function keySet(): Promise<KeySet> {
    const { metadata } = await connect()
    const url = metadata.jwks_uri ?? ''
    if (new URL(url, issuer).protocol !== new URL(issuer).protocol || url === '') {
      throw new ProviderError('protocol', 'The OpenID provider publishes no keys that could be trusted.')
    }
    if (keys?.url !== url) keys = { url, set: createKeySet(url, runtime) }
    return keys.set
  }

  return (jwt, { vouch = vouchForNone, isFromProvider = false, ...rules }) =>
    verifyProviderJwt(
      jwt,
      async (kid, algorithm) => (await keySet()).find(kid, algorithm, isFromProvider),
      {
        algorithms: signatureAlgorithms,
        issuer,
        currentDate: new Date(runtime.now() * 1000),
        ...rules,
      },
      vouch,
    )
}

const vouchForNone: Vouch = () => Promise.reject(unclear())

function unclear(): ProviderError {
  return new ProviderError('transient', 'The token names a key that the provider does not publish yet.')
}

/**
 * Vouches for a JWT by userinfo, which must take `accessToken`, by default the JWT itself, for the same subject. Its refusal says
 * nothing of the key: many providers take no tokens there that are for another audience.
 */
export function vouchByUserinfo(connect: ConnectToOidc, accessToken?: string): Vouch {
  return async (jwt, { sub }) => {
    const probed = await probeOidcSession(accessToken ?? jwt, connect).catch(() => undefined)
    if (probed?.life !== 'live' || probed.claims?.['sub'] === undefined) throw unclear()
    if (probed.claims['sub'] === sub) return
    throw new ProviderError('invalid_token', 'The provider token is about another user than userinfo.')
  }
}

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
