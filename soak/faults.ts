import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from './random.ts'

type Pass = () => Promise<Response>

// Longer than the server waits for the provider.
const heldMs = 9000

/**
 * Faults of one request at the provider: each returns the response, or undefined to break the connection. `held` and
 * `reply_lost`: it takes effect, but the reply is lost.
 */
export const faults = {
  async slow(pass: Pass, random: Random) {
    await sleep(random.between(100, 2500))
    return pass()
  },
  async held(pass: Pass) {
    const response = await pass()
    await sleep(heldMs)
    return response
  },
  async rate_limited(_pass: Pass, random: Random) {
    return Response.json(
      { code: 429, error_code: 'over_request_rate_limit', msg: 'Request rate limit reached' },
      {
        status: 429,
        headers: random.chance(0.5) ? { 'retry-after': String(Math.ceil(random.between(0, 3))) } : {},
      },
    )
  },
  async gateway_page(_pass: Pass, random: Random) {
    return new Response('<!doctype html><title>Gateway error</title>', {
      status: random.pick([500, 502, 503, 504, 520]),
      headers: { 'content-type': 'text/html; charset=utf-8' },
    })
  },
  async dropped() {
    return undefined
  },
  async reply_lost(pass: Pass) {
    await pass()
    return undefined
  },
} satisfies Record<string, (pass: Pass, random: Random) => Promise<Response | undefined>>

/** Probability of each kind of fault, from 0 to 1; at most 1 in total. The rest succeeds. */
export type FaultMix = Partial<Record<keyof typeof faults, number>>

/** All mixes, everything at once first, so that the shortest soak has it; an outage lasts about as long as the provider's tokens live. */
export const weathers: readonly { name: string; mix: FaultMix }[] = [
  {
    name: 'everything',
    mix: { slow: 0.15, held: 0.02, rate_limited: 0.15, gateway_page: 0.15, dropped: 0.1, reply_lost: 0.15 },
  },
  { name: 'slow', mix: { slow: 0.7, held: 0.05 } },
  { name: 'rate limits', mix: { rate_limited: 0.6 } },
  { name: 'gateway errors', mix: { gateway_page: 0.6 } },
  { name: 'lost connections', mix: { dropped: 0.3, reply_lost: 0.3 } },
  { name: 'lost replies', mix: { reply_lost: 0.8 } },
  { name: 'outage', mix: { dropped: 0.5, gateway_page: 0.5 } },
]

/** Draws the fault of the next request from `mix`; undefined for none. */
export function drawFault(mix: FaultMix, random: Random): keyof typeof faults | undefined {
  let drawn = random.next()
  for (const [kind, probability] of Object.entries(mix) as [keyof typeof faults, number][]) {
    drawn -= probability
    if (drawn < 0) return kind
  }
  return undefined
}
