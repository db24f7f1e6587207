import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CryptoKey, JWTPayload } from 'jose'
import type { Identity, Profile } from '../../core/session/session-provider.ts'
import { createKeySet, signatureAlgorithms } from '../jwks.ts'
import { limitVouching, requireRules, textClaim, verifyProviderJwt, type Vouch } from '../jwt.ts'
import { isUuid } from './second-factor.ts'

export interface TokenRequirements {
  issuer: string
  audience: string
  jwksUrl: string
  /** Shared HS256 secret; undefined: symmetric signatures are never accepted. */
  hs256Secret: string | undefined
  /** Id of our client of the OAuth server, whose tokens are accepted only where the provider itself issued them just now. */
  clientId?: string | undefined
  /** Asks the auth API about a token whose key is not published, or not yet. */
  vouch: Vouch
}

/**
 * Checks a provider access token; rejects with `invalid_token`, or `transient` when the keys are unavailable. `isFromProvider`: the
 * provider itself issued it just now, perhaps with a key newer than the cached ones.
 */
export type TokenVerifier = (accessToken: string, options?: { isFromProvider: boolean }) => Promise<Identity>

/**
 * Creates the verifier: signature by an allowed algorithm, issuer, audience, time, and that it is a signed-in user's own session.
 * `exp` counts to the second, as it does for the cookie. Refuses API keys signed with the same secret (`anon`, `service_role`),
 * anonymous users and tokens of another OAuth client. Does not check whether the session has since been signed out.
 */
export function createTokenVerifier(
  requirements: TokenRequirements,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): TokenVerifier {
  const keySet = createKeySet(requirements.jwksUrl, runtime)
  const { hs256Secret: secret, vouch } = requirements
  const limitedVouch = limitVouching(vouch, runtime)
  // Imported once: the library would import raw bytes again for every token.
  let secretKey: Promise<CryptoKey> | undefined
  return async (accessToken, { isFromProvider } = { isFromProvider: false }) => {
    const { payload } = await verifyProviderJwt(
      accessToken,
      (kid, algorithm) => {
        if (algorithm === 'HS256' && secret) return (secretKey ??= importSecret(secret))
        return keySet.find(kid, algorithm, isFromProvider)
      },
      {
        algorithms: secret ? [...signatureAlgorithms, 'HS256'] : signatureAlgorithms,
        issuer: requirements.issuer,
        audience: requirements.audience,
        currentDate: new Date(runtime.now() * 1000),
        requiredClaims: ['exp', 'sub'],
      },
      // Sign-ins are limited separately.
      isFromProvider ? vouch : limitedVouch,
    )
    return identityOf(payload, runtime.now(), isFromProvider ? requirements.clientId : undefined)
  }
}

function importSecret(secret: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', encodeUtf8(secret), algorithm, false, ['verify'])
}

/** Returns the identity in verified claims; throws `invalid_token` naming the rule that failed. */
function identityOf(claims: JWTPayload, now: number, clientId: string | undefined): Identity {
  requireRules(claims, now, [
    [isUuid(claims.sub), 'sub is not a UUID'],
    [claims['role'] === 'authenticated', 'role is not "authenticated"'],
    [isUuid(claims['session_id']), 'session_id is not a UUID'],
    [claims['is_anonymous'] !== true, 'the user is anonymous'],
    [
      [undefined, clientId].includes(claims['client_id'] as string | undefined),
      'it was issued to another OAuth client',
    ],
  ])
  const { email, name } = profileOfClaims(claims)
  return {
    sub: claims.sub ?? '',
    email,
    name,
    claims,
    secondFactor: claims['aal'] === 'aal2',
    expiresAt: claims.exp ?? 0,
  }
}

/**
 * Returns the claims of an access token, or the members of a user, as access rules read them. `emailVerified` only says that there
 * is an address: whether the project verifies addresses first is unknown here.
 */
export function profileOfClaims(claims: Readonly<Record<string, unknown>>): Profile {
  const email = textClaim(claims['email'])
  const metadata = claims['app_metadata']
  const { provider, providers } = isJsonObject(metadata) ? metadata : {}
  const named: readonly unknown[] = [provider, ...(Array.isArray(providers) ? providers : [])]
  // Users can change their own user_metadata.
  const { user_metadata: _, ...rest } = claims
  return {
    email,
    emailVerified: email !== undefined,
    name: nameOf(claims['user_metadata']),
    providers: [...new Set(named.filter((name) => typeof name === 'string'))],
    claims: rest,
  }
}

function nameOf(metadata: unknown): string | undefined {
  if (!isJsonObject(metadata)) return undefined
  const { full_name: fullName, name } = metadata
  return textClaim(fullName) ?? textClaim(name)
}
