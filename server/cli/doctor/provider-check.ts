import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { algorithmsOf } from '../../providers/jwks.ts'
import type { ProbeResult } from './probe.ts'

const noticeableSeconds = 30
const maxSkewSeconds = 300

export interface ProviderFacts {
  config: Pick<ServerConfig, 'providerJwtSecret'>
  now: number
  /** Responses whose `Date` is used; the first one that has it. */
  answers: readonly ProbeResult[]
  /** Undefined if the provider names none. */
  keySet: ProbeResult | undefined
}

export function unreachableProvider(url: string, reason: string): Outcome {
  return fail(
    `${url} cannot be reached: ${reason}.`,
    'Check DRAWBRIDGE_PROVIDER_URL, and that this machine may reach that host.',
  )
}

/** Checks the clock and the verification keys, which every provider has. */
export const providerChecks: Checks<ProviderFacts> = {
  // Rounding and the time of the request can cost a second.
  clock({ answers, now }) {
    const found = answers.map(dateOf).find((date) => date !== undefined)
    if (found === undefined) return undefined
    const skew = now - found
    const size = Math.abs(skew)
    const text = `The clock here is ${size} s ${skew < 0 ? 'behind' : 'ahead of'} the provider's`
    const fix = 'Synchronize the clock of this machine (timedatectl set-ntp true).'
    if (size > maxSkewSeconds) return fail(`${text}: tokens count as expired or not yet valid.`, fix)
    if (size > noticeableSeconds) return warn(`${text}.`, fix)
    return ok(`The clock here agrees with the provider's${size > 1 ? ` within ${size} s` : ''}.`)
  },
  'signing-keys'({ config: { providerJwtSecret }, keySet }) {
    // The check `provider` reports that.
    if (keySet === undefined || keySet.kind === 'unreachable') return undefined
    const published = keySet.status === 200 ? keySet.json?.['keys'] : undefined
    const keys = Array.isArray(published) ? published : []
    const usable = keys.map(algorithmOf).filter((algorithm) => algorithm !== undefined)
    if (usable.length === 0) {
      if (providerJwtSecret !== undefined)
        return ok('Tokens are verified with DRAWBRIDGE_PROVIDER_JWT_SECRET (HS256).')
      const found = Array.isArray(published)
        ? `${keys.length} keys, none of which can verify signatures`
        : `no key set (${keySet.status})`
      return fail(
        `The provider publishes ${found}. No token can be verified, so no one can sign in.`,
        'Check DRAWBRIDGE_PROVIDER_URL, /.well-known/jwks.json is below it. A project that signs with a shared secret (HS256) needs asymmetric signing keys, or DRAWBRIDGE_PROVIDER_JWT_SECRET here.',
      )
    }
    const counted = [...new Set(usable)].map(
      (algorithm) => `${usable.filter((other) => other === algorithm).length} ${algorithm}`,
    )
    const text = `The provider publishes ${counted.join(' and ')}.`
    if (providerJwtSecret === undefined) return ok(text)
    return warn(
      `${text} DRAWBRIDGE_PROVIDER_JWT_SECRET is accepted as well: anyone who knows it can make tokens.`,
      'Once no token is signed with it any more, remove it here and revoke it at the provider.',
    )
  },
}

/** Returns when a response was created, in epoch seconds; a cache may have kept it since. */
function dateOf(result: ProbeResult): number | undefined {
  const made = Date.parse(result.headers?.get('date') ?? '')
  const age = Number(result.headers?.get('age') ?? 0)
  return Number.isNaN(made) ? undefined : Math.floor(made / 1000) + (Number.isFinite(age) ? age : 0)
}

function algorithmOf(jwk: unknown): string | undefined {
  return isJsonObject(jwk) ? algorithmsOf(jwk)[0] : undefined
}
