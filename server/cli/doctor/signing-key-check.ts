import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import type { Visit } from './visit.ts'

/** Whether tokens of the provider can be verified: by the keys it publishes, or by the shared secret. */
export function checkSigningKeys(
  config: Pick<ServerConfig, 'provider' | 'providerJwtSecret'>,
  keySet: Visit,
): Finding[] {
  const name = 'signing-keys'
  const secret = config.providerJwtSecret !== undefined
  // That nobody answers at all is told by the check of the provider.
  if (keySet.kind === 'unreachable') return []
  const keys = keySet.json?.['keys']
  if (keySet.status !== 200 || !Array.isArray(keys)) {
    if (secret) return [ok(name, 'Tokens are verified with DRAWBRIDGE_PROVIDER_JWT_SECRET (HS256).')]
    return [
      fail(
        name,
        `The provider publishes no key set: it answers ${keySet.status}.`,
        'Check DRAWBRIDGE_PROVIDER_URL: the key set is looked for below it, at /.well-known/jwks.json.',
      ),
    ]
  }
  const usable = keys.map(algorithmOf).filter((algorithm) => algorithm !== undefined)
  if (usable.length === 0) return [secret ? secretOnly(name) : noKeys(name, keys.length)]
  const counted = [...new Set(usable)].map(
    (algorithm) => `${usable.filter((other) => other === algorithm).length} ${algorithm}`,
  )
  const published = `The provider publishes ${counted.join(' and ')}.`
  return secret
    ? [
        warn(
          name,
          `${published} DRAWBRIDGE_PROVIDER_JWT_SECRET is accepted beside that: whoever knows it can make tokens.`,
          'Once no token is signed with it any more, take it out and revoke it at the provider.',
        ),
      ]
    : [ok(name, published)]
}

function secretOnly(name: string): Finding {
  return ok(
    name,
    'The provider publishes no key; tokens are verified with DRAWBRIDGE_PROVIDER_JWT_SECRET (HS256).',
  )
}

function noKeys(name: string, published: number): Finding {
  return fail(
    name,
    published === 0
      ? 'The provider publishes no key: the project signs with a shared secret (HS256). No token can be verified, so nobody can sign in.'
      : `None of the ${published} keys that the provider publishes is ES256 or RS256. No token can be verified.`,
    'Move the project to asymmetric signing keys, or set DRAWBRIDGE_PROVIDER_JWT_SECRET to its JWT secret.',
  )
}

function algorithmOf(jwk: unknown): 'ES256' | 'RS256' | undefined {
  if (!isJsonObject(jwk) || (jwk['use'] !== undefined && jwk['use'] !== 'sig')) return undefined
  if (jwk['kty'] === 'EC' && jwk['crv'] === 'P-256') return 'ES256'
  return jwk['kty'] === 'RSA' && [undefined, 'RS256'].includes(jwk['alg'] as string | undefined)
    ? 'RS256'
    : undefined
}
