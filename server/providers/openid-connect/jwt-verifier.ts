import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { errors, type JWTVerifyOptions, type JWTVerifyResult, jwtVerify } from 'jose'
import { ProviderError } from '../../core/session/session-provider.ts'
import { createKeySet, type KeySet } from '../jwks.ts'
import type { ConnectToOidc } from './connection.ts'

/** Verifies one JWT. Rejects with `invalid_token`, or as fetching the keys does. */
export type VerifyOidcJwt = (
  jwt: string,
  rules: Pick<JWTVerifyOptions, 'requiredClaims' | 'clockTolerance'>,
) => Promise<JWTVerifyResult>

/**
 * Creates the check of what JWTs of the issuer have in common: signature by ES256 or RS256 with a key that it publishes, issuer,
 * audience, and time.
 */
export function createOidcJwtVerifier(
  { issuer, audience }: { issuer: string; audience: string },
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): VerifyOidcJwt {
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

  return async (jwt, rules) => {
    try {
      return await jwtVerify(
        jwt,
        async (header) => {
          // The header is unverified: its kid may be any JSON value.
          const kid: unknown = header.kid
          return (await keySet()).find(typeof kid === 'string' ? kid : undefined, header.alg)
        },
        {
          algorithms: ['ES256', 'RS256'],
          issuer,
          audience,
          currentDate: new Date(runtime.now() * 1000),
          ...rules,
        },
      )
    } catch (error) {
      if (error instanceof ProviderError) throw error
      // Besides its own errors the library throws a TypeError for keys it will not use, such as short RSA ones.
      const rule = error instanceof errors.JOSEError ? error.code : 'unusable key'
      throw new ProviderError('invalid_token', `The provider token is refused: ${rule}.`, { cause: error })
    }
  }
}
