import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { JWTVerifyOptions, JWTVerifyResult } from 'jose'
import { ProviderError } from '../../core/session/session-provider.ts'
import { createKeySet, type KeySet } from '../jwks.ts'
import { verifyProviderJwt } from '../jwt.ts'
import type { ConnectToOidc } from './connection.ts'

/**
 * Creates the common check of the issuer's JWTs: signature by ES256 or RS256 with a key that it publishes, issuer, audience, and
 * time. Rejects with `invalid_token`, or as fetching the keys does.
 */
export function createOidcJwtVerifier(
  { issuer, audience }: { issuer: string; audience: string },
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): (
  jwt: string,
  rules: Pick<JWTVerifyOptions, 'requiredClaims' | 'clockTolerance'>,
) => Promise<JWTVerifyResult> {
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

  return (jwt, rules) =>
    verifyProviderJwt(jwt, async (kid, algorithm) => (await keySet()).find(kid, algorithm), {
      algorithms: ['ES256', 'RS256'],
      issuer,
      audience,
      currentDate: new Date(runtime.now() * 1000),
      ...rules,
    })
}
