import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  type CryptoKey,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
  UnsecuredJWT,
} from 'jose'
import { BoundedMap } from '../core/bounded-map.ts'
import { RateLimit } from '../core/limits/rate-limit.ts'
import { questionsAboutTokens } from '../core/limits/limit-table.ts'
import { hashSecret } from '../core/seal.ts'
import { ProviderError } from '../core/session/session-provider.ts'
import { UnknownKeyError } from './jwks.ts'

const maxIssuedAheadSeconds = 60

/** Resolves when the provider itself vouches for a JWT and its subject. Rejects with `invalid_token`, or `transient` if it cannot be asked. */
export type Vouch = (jwt: string, claims: JWTPayload) => Promise<void>

/**
 * Verifies a JWT of the provider: signature, and what `options` requires. Rejects with `invalid_token`, or as `findKey` does. Where
 * the key is unknown here, which is not the JWT's fault, `vouch` decides in place of the signature.
 */
export async function verifyProviderJwt(
  jwt: string,
  findKey: (kid: string | undefined, algorithm: string) => Promise<CryptoKey>,
  options: JWTVerifyOptions,
  vouch: Vouch,
): Promise<JWTVerifyResult> {
  try {
    // The header is unverified: its kid may be any JSON value.
    const keyOf = ({ kid, alg }: { kid?: unknown; alg: string }): Promise<CryptoKey> =>
      findKey(typeof kid === 'string' ? kid : undefined, alg)
    return await jwtVerify(jwt, keyOf, options).catch(async (error: unknown) => {
      if (!isUnknownKey(error, jwt)) throw error
      // Check the claims alone before the provider is asked.
      const unsigned = `eyJhbGciOiJub25lIn0.${jwt.split('.')[1]}.`
      const { payload } = UnsecuredJWT.decode(unsigned, options)
      await vouch(jwt, payload)
      return { payload, protectedHeader: decodeProtectedHeader(jwt) as JWTVerifyResult['protectedHeader'] }
    })
  } catch (error) {
    if (error instanceof ProviderError) throw error
    // Besides its own errors the library throws a TypeError for keys it will not use, such as short RSA ones.
    const rule = error instanceof errors.JOSEError ? error.code : 'unusable key'
    throw new ProviderError('invalid_token', `The provider token is refused: ${rule}.`, { cause: error })
  }
}

/** Keys without a name are replaced under the same one: their signatures fail where a named key is unknown. */
function isUnknownKey(error: unknown, jwt: string): boolean {
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return decodeProtectedHeader(jwt).kid === undefined
  return error instanceof UnknownKeyError
}

const maxAnswers = 1000
const answerSeconds = 30

/**
 * Creates a {@link Vouch} that asks for each token at most once in thirty seconds, and for all together within
 * {@link questionsAboutTokens}: anyone can make tokens that name an unknown key. Beyond that it rejects with `transient`.
 */
export function limitVouching(vouch: Vouch, { now }: Pick<Runtime, 'now'>): Vouch {
  const limit = new RateLimit(questionsAboutTokens, 1)
  const answers = new BoundedMap<{ until: number; answer: Promise<void> }>(maxAnswers)
  return (jwt, claims) => {
    const hash = hashSecret(jwt)
    const known = answers.get(hash)
    if (known && now() < known.until) return known.answer
    if (limit.isSpent('all', now())) {
      const message = 'Too many tokens name keys that the provider does not publish.'
      return Promise.reject(new ProviderError('transient', message))
    }
    limit.take('all', now())
    const answer = vouch(jwt, claims)
    answers.set(hash, { until: now() + answerSeconds, answer })
    answer.catch(({ failure }: ProviderError) => {
      if (failure !== 'invalid_token') answers.delete(hash)
    })
    return answer
  }
}

/** Throws `invalid_token` with the fault of the first rule that does not hold, or if `iat` is in the future. */
export function requireRules(
  { iat = 0 }: JWTPayload,
  now: number,
  rules: readonly (readonly [holds: boolean, fault: string])[],
  what = 'provider token',
): void {
  const isIssued = iat <= now + maxIssuedAheadSeconds
  const broken = [...rules, [isIssued, 'iat is in the future'] as const].find(([holds]) => !holds)
  if (broken) throw new ProviderError('invalid_token', `The ${what} is refused: ${broken[1]}.`)
}

/** Returns a claim that is a non-empty string. */
export function textClaim(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
