import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addressBlocks } from '../address-block.ts'
import { type AttemptRule, blockMax, type Budget, siteMax, strangersShare } from './limit-table.ts'
import { BoundedMap } from '../bounded-map.ts'
import { hashSecret } from '../seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** Counts attempts across all instances, so that a limit holds for all of them together. */
export interface AttemptStore {
  /** Returns the attempts in the current window, including this one, and the window's end (epoch seconds). */
  countAttempt(
    key: string,
    windowSeconds: number,
    now: number,
  ): Promise<{ count: number; windowEndsAt: number }>
  /** Takes back an attempt of the window that ends at `windowEndsAt`. Does nothing in a newer window, or at 0. */
  returnAttempt(key: string, windowEndsAt: number): Promise<void>
}

export interface AttemptSource {
  /** IP address; undefined: no limit per address applies. */
  address: string | undefined
  /** The browser has signed in before, or the client is in use. */
  known: boolean
}

const maxRemembered = 10_000
// Other instances may give attempts back, so the store is asked again after this time.
const rememberedSeconds = 5

// Windows known to be full, by store. They are not counted again.
type FullWindows = BoundedMap<{ windowEndsAt: number; until: number }>
const fullWindows = new WeakMap<AttemptStore, FullWindows>()

/** A {@link Budget} for attempts under `key`, across all instances. */
export interface AttemptLimit extends Budget {
  key: string
  refundable?: true
}

export interface CountedAttempt {
  key: string
  windowEndsAt: number
}

/** Result of {@link countWithin}. The attempt may be made at once when `waitSeconds` is 0. Pass `refundable` to {@link giveBack}. */
export interface AttemptResult {
  waitSeconds: number
  refundable: readonly CountedAttempt[]
  reached?: string
}

export interface AttemptLimitPorts {
  store: AttemptStore
  runtime: Pick<Runtime, 'now'>
}

/** Counts before the attempt is made: concurrent ones cannot exceed a limit together. What one limit refuses, none counts. */
export async function countWithin(
  limits: readonly AttemptLimit[],
  ports: AttemptLimitPorts,
): Promise<AttemptResult> {
  const { store, runtime } = ports
  const now = runtime.now()
  const full = fullWindowsOf(store)
  const known = limits.find(({ key }) => (full.get(key)?.until ?? 0) > now)?.key
  if (known !== undefined) {
    return { waitSeconds: (full.get(known)?.windowEndsAt ?? now) - now, refundable: [], reached: known }
  }
  const counted: (CountedAttempt & { refundable: boolean })[] = []
  for (const { key, max, windowSeconds, refundable = false } of limits) {
    const { count, windowEndsAt } = await store.countAttempt(key, windowSeconds, now)
    counted.push({ key, windowEndsAt, refundable })
    if (count > max) await giveBack(counted, ports)
    if (count >= max) {
      full.set(key, { windowEndsAt, until: Math.min(windowEndsAt, now + rememberedSeconds) })
    }
    if (count > max) return { waitSeconds: Math.max(1, windowEndsAt - now), refundable: [], reached: key }
  }
  const refundable = counted.filter((attempt) => attempt.refundable)
  return { waitSeconds: 0, refundable: refundable.map(({ key, windowEndsAt }) => ({ key, windowEndsAt })) }
}

/** Gives attempts back. If the store is unavailable, they stay counted until their window ends. */
export async function giveBack(
  counted: readonly CountedAttempt[],
  { store }: Pick<AttemptLimitPorts, 'store'>,
): Promise<void> {
  try {
    for (const { key, windowEndsAt } of counted) {
      await store.returnAttempt(key, windowEndsAt)
      fullWindowsOf(store).delete(key)
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}

/**
 * Does `work` unless it was done under `key` within `seconds`, at any instance; undefined if it was, or is being done. Work that
 * rejects does not count.
 */
export async function doOnce<Result>(
  key: string,
  seconds: number,
  work: () => Promise<Result>,
  { store, runtime }: AttemptLimitPorts,
): Promise<Result | undefined> {
  const { count, windowEndsAt } = await store.countAttempt(key, seconds, runtime.now())
  let isDone = false
  try {
    if (count > 1) return undefined
    const result = await work()
    isDone = true
    return result
  } finally {
    if (!isDone) await store.returnAttempt(key, windowEndsAt)
  }
}

/** Limits per address come first: a source that exceeds them does not use up the shared ones. */
export function limitsOf(
  { kind, perAddress, everyone }: AttemptRule,
  { address, known }: AttemptSource,
): AttemptLimit[] {
  return [
    ...addressLimits(kind, perAddress, address, siteMax(everyone.max)),
    ...everyoneLimits(kind, everyone, known),
  ]
}

/** One limit for each block of `address`, none without. Wider blocks may do more, up to `ceiling`; all at least one attempt. */
export function addressLimits(
  kind: string,
  { max, windowSeconds }: Budget,
  address: string | undefined,
  ceiling: number = Number.POSITIVE_INFINITY,
): AttemptLimit[] {
  if (address === undefined) return []
  return addressBlocks(address).map(({ name, factor }) => ({
    key: limitKey(kind, name),
    max: blockMax(max, factor, ceiling),
    windowSeconds,
  }))
}

/** Returns the limit shared by all sources. Unknown ones may use two thirds of it. */
export function everyoneLimits(kind: string, { max, windowSeconds }: Budget, known: boolean): AttemptLimit[] {
  const all = { key: kind, max, windowSeconds }
  const strangers = { key: `${kind} strangers`, max: strangersShare(max), windowSeconds }
  return known ? [all] : [strangers, all]
}

/** Makes a limit on wrong guesses: an attempt that succeeds is given back. */
export function refundable(limit: AttemptLimit): AttemptLimit {
  return { ...limit, refundable: true }
}

/** Returns the key of a limit on `value`, an address block or an account. Only its hash is stored. */
export function limitKey(kind: string, value: string): string {
  return `${kind} ${hashSecret(`drawbridge ${kind} ${value}`)}`
}

function fullWindowsOf(store: AttemptStore): FullWindows {
  const known: FullWindows = fullWindows.get(store) ?? new BoundedMap(maxRemembered)
  fullWindows.set(store, known)
  return known
}
