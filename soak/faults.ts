import type { Random } from './random.ts'

/** Faults of one request at the provider. `held` and `reply_lost`: it takes effect, but the reply is lost. */
export type Fault =
  | { kind: 'none' }
  | { kind: 'slow'; ms: number }
  | { kind: 'held'; ms: number }
  | { kind: 'rate_limited'; retryAfterSeconds: number | undefined }
  | { kind: 'gateway_page'; status: number }
  | { kind: 'dropped' }
  | { kind: 'reply_lost' }

/** Probability of each kind of fault, from 0 to 1; at most 1 in total. The rest succeeds. */
export type FaultMix = Partial<Record<Exclude<Fault['kind'], 'none'>, number>>

/** A period with one mix of faults at the provider. */
export interface Phase {
  name: string
  seconds: number
  mix: FaultMix
}

// Longer than the server waits for the provider.
const heldMs = 9000

/** All mixes; an outage lasts about as long as the provider's tokens live. */
const weathers: readonly Omit<Phase, 'seconds'>[] = [
  { name: 'slow', mix: { slow: 0.7, held: 0.05 } },
  { name: 'rate limits', mix: { rate_limited: 0.6 } },
  { name: 'gateway errors', mix: { gateway_page: 0.6 } },
  { name: 'lost connections', mix: { dropped: 0.3, reply_lost: 0.3 } },
  { name: 'lost replies', mix: { reply_lost: 0.8 } },
  { name: 'outage', mix: { dropped: 0.5, gateway_page: 0.5 } },
]

const everything: Omit<Phase, 'seconds'> = {
  name: 'everything',
  mix: { slow: 0.15, held: 0.02, rate_limited: 0.15, gateway_page: 0.15, dropped: 0.1, reply_lost: 0.15 },
}

/**
 * Plans phases for about `seconds`: first everything at once, so that the shortest soak includes it, then every mix
 * in random order, repeatedly, with calm after each.
 */
export function planPhases(seconds: number, random: Random): Phase[] {
  const phases: Phase[] = []
  let left = seconds
  let coming = [everything]
  while (left > 0) {
    const [weather = everything, ...later] = coming
    coming = later.length === 0 ? shuffled([...weathers, everything], random) : later
    const trouble = { ...weather, seconds: Math.min(left, Math.round(random.between(8, 16))) }
    const calm = { name: 'calm', seconds: Math.round(random.between(3, 7)), mix: {} }
    phases.push(trouble, calm)
    left -= trouble.seconds + calm.seconds
  }
  return phases
}

/** Draws the fault of the next request from `mix`. */
export function drawFault(mix: FaultMix, random: Random): Fault {
  let drawn = random.next()
  for (const [kind, probability] of Object.entries(mix) as [Exclude<Fault['kind'], 'none'>, number][]) {
    drawn -= probability
    if (drawn < 0) return faultOf(kind, random)
  }
  return { kind: 'none' }
}

function faultOf(kind: Exclude<Fault['kind'], 'none'>, random: Random): Fault {
  switch (kind) {
    case 'slow':
      return { kind, ms: random.between(100, 2500) }
    case 'held':
      return { kind, ms: heldMs }
    case 'rate_limited':
      return { kind, retryAfterSeconds: random.chance(0.5) ? Math.ceil(random.between(0, 3)) : undefined }
    case 'gateway_page':
      return { kind, status: random.pick([500, 502, 503, 504, 520]) }
    case 'dropped':
    case 'reply_lost':
      return { kind }
  }
}

function shuffled<Value>(values: readonly Value[], random: Random): Value[] {
  return values
    .map((value) => ({ value, order: random.next() }))
    .sort((one, other) => one.order - other.order)
    .map(({ value }) => value)
}
