import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type Checks, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { algorithmsOf } from '../../providers/jwks.ts'
import type { Visit } from './visit.ts'

const noticeableSeconds = 30
const maxSkewSeconds = 300

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
  'signing-keys'({ config: { providerJwtSecret }, keySet }) {
    // The check of the provider says that nothing answers.
    if (keySet === undefined || keySet.kind === 'unreachable') return undefined
    const published = keySet.status === 200 ? keySet.json?.['keys'] : undefined
    const keys = Array.isArray(published) ? published : []
    const usable = keys.map(algorithmOf).filter((algorithm) => algorithm !== undefined)
    if (usable.length === 0) {
      if (providerJwtSecret !== undefined)
        return ok('Tokens are verified with DRAWBRIDGE_PROVIDER_JWT_SECRET (HS256).')
      const found = Array.isArray(published)
        ? `${keys.length} keys, and none is good for verifying signatures`
        : `no key set: it answers ${keySet.status}`
      return fail(
        `The provider publishes ${found}. No token can be verified, so nobody can sign in.`,
        'Check DRAWBRIDGE_PROVIDER_URL, /.well-known/jwks.json is below it. A project that signs with a shared secret (HS256) needs asymmetric signing keys, or DRAWBRIDGE_PROVIDER_JWT_SECRET here.',
      )
    }
    const counted = [...new Set(usable)].map(
      (algorithm) => `${usable.filter((other) => other === algorithm).length} ${algorithm}`,
    )
    const text = `The provider publishes ${counted.join(' and ')}.`
    if (providerJwtSecret === undefined) return ok(text)
    return warn(
      `${text} DRAWBRIDGE_PROVIDER_JWT_SECRET is accepted beside that: whoever knows it can make tokens.`,
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

function algorithmOf(jwk: unknown): string | undefined {
  return isJsonObject(jwk) ? algorithmsOf(jwk)[0] : undefined
}
