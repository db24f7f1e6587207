import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type Checks, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import type { ServerConfig } from '../../config/setting.ts'
import type { Visit } from './visit.ts'

const noticeableSeconds = 30
const maxSkewSeconds = 300

/** Responses of any provider. */
export interface ProviderFacts {
  config: Pick<ServerConfig, 'providerJwtSecret'>
  now: number
  /** In the order of preference for their `Date`. */
  answers: readonly Visit[]
  /** Undefined where the provider names none. */
  keySet: Visit | undefined
}

/** Checks the clock and the verification keys, which every provider has. */
export const providerChecks: Checks<ProviderFacts> = {
  // A second is lost to rounding, and the time the answer took.
  clock({ answers, now }) {
    const found = answers.map(dateOf).find((date) => date !== undefined)
    if (found === undefined) return undefined
    const skew = now - found
    const size = Math.abs(skew)
    const text = `The clock here is ${size} s ${skew < 0 ? 'behind' : 'ahead of'} that of the provider`
    const fix = 'Let this machine keep its time by NTP (timedatectl set-ntp true).'
    if (size > maxSkewSeconds) return fail(`${text}: tokens count as expired or not yet valid.`, fix)
    if (size > noticeableSeconds) return warn(`${text}.`, fix)
    return ok(`The clock here agrees with that of the provider${size > 1 ? ` within ${size} s` : ''}.`)
  },
  'signing-keys'({ config, keySet }) {
    const secret = config.providerJwtSecret !== undefined
    // The check of the provider says that nothing answers.
    if (keySet === undefined || keySet.kind === 'unreachable') return undefined
    const keys = keySet.json?.['keys']
    if (keySet.status !== 200 || !Array.isArray(keys)) {
      if (secret) return ok('Tokens are verified with DRAWBRIDGE_PROVIDER_JWT_SECRET (HS256).')
      return fail(
        `The provider publishes no key set: it answers ${keySet.status}.`,
        'Check DRAWBRIDGE_PROVIDER_URL: the key set is looked for below it, at /.well-known/jwks.json.',
      )
    }
    const usable = keys.map(algorithmOf).filter((algorithm) => algorithm !== undefined)
    if (usable.length === 0 && secret)
      return ok(
        'The provider publishes no key; tokens are verified with DRAWBRIDGE_PROVIDER_JWT_SECRET (HS256).',
      )
    if (usable.length === 0) {
      return fail(
        keys.length === 0
          ? 'The provider publishes no key: the project signs with a shared secret (HS256). No token can be verified, so nobody can sign in.'
          : `None of the ${keys.length} keys that the provider publishes is ES256 or RS256. No token can be verified.`,
        'Move the project to asymmetric signing keys, or set DRAWBRIDGE_PROVIDER_JWT_SECRET to its JWT secret.',
      )
    }
    const counted = [...new Set(usable)].map(
      (algorithm) => `${usable.filter((other) => other === algorithm).length} ${algorithm}`,
    )
    const published = `The provider publishes ${counted.join(' and ')}.`
    if (!secret) return ok(published)
    return warn(
      `${published} DRAWBRIDGE_PROVIDER_JWT_SECRET is accepted beside that: whoever knows it can make tokens.`,
      'Once no token is signed with it any more, take it out and revoke it at the provider.',
    )
  },
}

/** Returns when a response was created, in epoch seconds; a cache may have kept it since. */
function dateOf(visit: Visit): number | undefined {
  if (visit.kind === 'unreachable') return undefined
  const made = Date.parse(visit.headers.get('date') ?? '')
  const age = Number(visit.headers.get('age') ?? 0)
  return Number.isNaN(made) ? undefined : Math.floor(made / 1000) + (Number.isFinite(age) ? age : 0)
}

function algorithmOf(jwk: unknown): 'ES256' | 'RS256' | undefined {
  if (!isJsonObject(jwk) || (jwk['use'] !== undefined && jwk['use'] !== 'sig')) return undefined
  if (jwk['kty'] === 'EC' && jwk['crv'] === 'P-256') return 'ES256'
  return jwk['kty'] === 'RSA' && [undefined, 'RS256'].includes(jwk['alg'] as string | undefined)
    ? 'RS256'
    : undefined
}
