import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CryptoKey, errors, type JWTPayload, jwtVerify } from 'jose'
import { type Identity, type Profile, ProviderError } from '../../core/session/session-provider.ts'
import { createKeySet } from '../jwks.ts'

const maxIssuedAheadSeconds = 60
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** What a provider access token must carry. */
export interface TokenRequirements {
  issuer: string
  audience: string
  jwksUrl: string
  /** Shared HS256 secret; without one no symmetric signature is ever accepted. */
  hs256Secret: string | undefined
}

/**
 * Checks a provider access token; rejects with `invalid_token`, or `transient` when the keys cannot be had.
 * `isFromProvider`: the provider itself issued it just now, perhaps under a key that is newer than what is known.
 */
export type TokenVerifier = (accessToken: string, options?: { isFromProvider: boolean }) => Promise<Identity>

/**
 * Creates the verifier: signature by an allowed algorithm, issuer, audience, time, and that it is a signed-in person's
 * own session. `exp` counts to the second, as it does for the cookie. API keys signed with the same secret (`anon`,
 * `service_role`), anonymous users and tokens that another OAuth client obtained are refused. Whether the session was
 * signed out meanwhile is not checked.
 */
export function createTokenVerifier(
  requirements: TokenRequirements,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): TokenVerifier {
  const keySet = createKeySet(requirements.jwksUrl, runtime)
  const secret = requirements.hs256Secret
  // Imported once: from bytes the library imports it again for every token.
  let secretKey: Promise<CryptoKey> | undefined
  return async (accessToken, { isFromProvider } = { isFromProvider: false }) => {
    try {
      const { payload } = await jwtVerify(
        accessToken,
        (header) => {
          if (header.alg === 'HS256' && secret) return (secretKey ??= importSecret(secret))
          // The header is unverified: its kid may be any JSON value.
          const kid = typeof header.kid === 'string' ? header.kid : undefined
          return keySet.find(kid, header.alg, isFromProvider)
        },
        {
          algorithms: secret ? ['ES256', 'RS256', 'HS256'] : ['ES256', 'RS256'],
          issuer: requirements.issuer,
          audience: requirements.audience,
          currentDate: new Date(runtime.now() * 1000),
          requiredClaims: ['exp', 'sub'],
        },
      )
      return identityOf(payload, runtime.now())
    } catch (error) {
      if (error instanceof ProviderError) throw error
      // Besides its own errors the library throws a TypeError for keys it will not use, such as short RSA ones.
      const rule = error instanceof errors.JOSEError ? error.code : 'unusable key'
      throw new ProviderError('invalid_token', `The provider token is refused: ${rule}.`, { cause: error })
    }
  }
}

function importSecret(secret: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', encodeUtf8(secret), algorithm, false, ['verify'])
}

/** The identity in claims whose signature is verified, or `invalid_token` naming the rule that failed. */
function identityOf(claims: JWTPayload, now: number): Identity {
  const sessionId = claims['session_id']
  const rule = (
    [
      [typeof claims.sub === 'string' && uuid.test(claims.sub), 'sub is not a UUID'],
      [claims['role'] === 'authenticated', 'role is not "authenticated"'],
      [typeof sessionId === 'string' && uuid.test(sessionId), 'session_id is not a UUID'],
      [claims['is_anonymous'] !== true, 'the user is anonymous'],
      [claims['client_id'] === undefined, 'it was issued to another OAuth client'],
      [claims.iat === undefined || claims.iat <= now + maxIssuedAheadSeconds, 'iat lies in the future'],
    ] as const
  ).find(([holds]) => !holds)
  if (rule) throw new ProviderError('invalid_token', `The provider token is refused: ${rule[1]}.`)
  return {
    ...profileOfClaims(claims),
    sub: claims.sub ?? '',
    name: nameOf(claims['user_metadata']),
    secondFactor: claims['aal'] === 'aal2',
    expiresAt: claims.exp ?? 0,
  }
}

/**
 * What the claims of an access token, or the members of a user, say for access rules. `emailVerified` says whether there is an address: whether
 * the project proves addresses before it puts them there is not known here.
 */
export function profileOfClaims(claims: Readonly<Record<string, unknown>>): Profile {
  const email = textClaim(claims['email'])
  const metadata = claims['app_metadata']
  const { provider, providers } = isJsonObject(metadata) ? metadata : {}
  const named: readonly unknown[] = [provider, ...(Array.isArray(providers) ? providers : [])]
  // Everyone can write their own user_metadata.
  const { user_metadata: _, ...rest } = claims
  return {
    email,
    emailVerified: email !== undefined,
    providers: [...new Set(named.filter((name) => typeof name === 'string'))],
    claims: rest,
  }
}

function textClaim(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function nameOf(metadata: unknown): string | undefined {
  if (typeof metadata !== 'object' || metadata === null) return undefined
  const { full_name: fullName, name } = metadata as Record<string, unknown>
  return textClaim(fullName) ?? textClaim(name)
}
