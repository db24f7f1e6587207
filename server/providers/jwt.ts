import {
  type CryptoKey,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from 'jose'
import { ProviderError } from '../core/session/session-provider.ts'

const maxIssuedAheadSeconds = 60

/**
 * Verifies a JWT of the provider: signature, and what `options` requires. Rejects with `invalid_token`, or as `findKey` does.
 */
export async function verifyProviderJwt(
  jwt: string,
  findKey: (kid: string | undefined, algorithm: string) => Promise<CryptoKey>,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(
      jwt,
      (header) => {
        // The header is unverified: its kid may be any JSON value.
        const kid: unknown = header.kid
        return findKey(typeof kid === 'string' ? kid : undefined, header.alg)
      },
      options,
    )
  } catch (error) {
    if (error instanceof ProviderError) throw error
    // Besides its own errors the library throws a TypeError for keys it will not use, such as short RSA ones.
    const rule = error instanceof errors.JOSEError ? error.code : 'unusable key'
    throw new ProviderError('invalid_token', `The provider token is refused: ${rule}.`, { cause: error })
  }
}

/** Throws `invalid_token` with the fault of the first rule that does not hold, or if `iat` is in the future. */
export function requireRules(
  { iat = 0 }: JWTPayload,
  now: number,
  rules: readonly (readonly [holds: boolean, fault: string])[],
): void {
  const isIssued = iat <= now + maxIssuedAheadSeconds
  const broken = [...rules, [isIssued, 'iat is in the future'] as const].find(([holds]) => !holds)
  if (broken) throw new ProviderError('invalid_token', `The provider token is refused: ${broken[1]}.`)
}

/** Returns a claim that is a non-empty string. */
export function textClaim(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
