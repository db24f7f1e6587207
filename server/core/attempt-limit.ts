import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addressBlock } from './address-block.ts'
import type { AttemptStore } from './attempt.ts'
import { type BoundedMap, createBoundedMap } from './bounded-map.ts'
import { hashSecret } from './seal.ts'

const mostRemembered = 10_000
// A window that is full stays full until it ends: of each store, what is known to be so needs no asking, and no writing.
const fullUntil = new WeakMap<AttemptStore, BoundedMap<number>>()

/** At most `most` attempts under `key` in a window of so many seconds, at all instances together. */
export interface AttemptLimit {
  key: string
  most: number
  windowSeconds: number
}

/** What counting needs from outside. */
export interface AttemptLimitPorts {
  store: AttemptStore
  runtime: Pick<Runtime, 'now'>
}

/**
 * Counts an attempt under each of `limits` in turn, and answers how many seconds it has to wait; 0 when it is within all of
 * them. What one limit refuses is not counted by those behind it, so whoever is over a limit of their own takes nothing
 * from the others.
 */
export async function countWithin(
  limits: readonly AttemptLimit[],
  { store, runtime }: AttemptLimitPorts,
): Promise<number> {
  const now = runtime.now()
  const full = fullWindowsOf(store)
  const known = limits.map(({ key }) => full.get(key) ?? now).find((end) => end > now)
  if (known !== undefined) return known - now
  for (const { key, most, windowSeconds } of limits) {
    const { count, windowEndsAt } = await store.countAttempt(key, windowSeconds, now)
    if (count >= most) full.set(key, windowEndsAt)
    if (count > most) return Math.max(1, windowEndsAt - now)
  }
  return 0
}

/** The key of a limit for one source of `kind`. No address is in the store as such, and of IPv6 a /64 counts as one. */
export function addressKey(kind: string, address: string): string {
  return `${kind} ${hashSecret(`drawbridge ${kind} ${addressBlock(address)}`)}`
}

function fullWindowsOf(store: AttemptStore): BoundedMap<number> {
  const known = fullUntil.get(store) ?? createBoundedMap<number>(mostRemembered)
  fullUntil.set(store, known)
  return known
}
