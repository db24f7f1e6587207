import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addressBlocks } from '../address-block.ts'
import { type AttemptRule, blockMax, type Budget, siteMax, strangersShare } from './limit-table.ts'
import { type BoundedMap, createBoundedMap } from '../bounded-map.ts'
import { hashSecret } from '../seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** Counts attempts across all instances, so that a limit holds however many of them there are. */
export interface AttemptStore {
  /**
   * Counts one more attempt under `key` and answers how many there are in its window, this one included, and when the
   * window ends (epoch seconds). A window begins with the first attempt after the last one ended.
   */
  countAttempt(
    key: string,
    windowSeconds: number,
    now: number,
  ): Promise<{ count: number; windowEndsAt: number }>
  /**
   * Takes one attempt back that was counted under `key` in the window that ends at `windowEndsAt`. Does nothing when another
   * window has begun since, or when the count is 0.
   */
  returnAttempt(key: string, windowEndsAt: number): Promise<void>
}

/** Where an attempt comes from. */
export interface AttemptSource {
  /** IP address; undefined: no limit per address holds. */
  address: string | undefined
  /** The browser has signed in before, or the client is in use. */
  known: boolean
}

const maxRemembered = 10_000
// Another instance may give attempts back, so the store is asked again after this time.
const rememberedSeconds = 5

// Windows that are known to be full, of each store: they need not be counted again.
const fullWindows = new WeakMap<AttemptStore, BoundedMap<{ windowEndsAt: number; until: number }>>()

/** A {@link Budget} for what is counted under `key`, at all instances together. */
export interface AttemptLimit extends Budget {
  key: string
  /** The limit is on guesses: an attempt that turns out to be none is given back. */
  refundable?: true
}

/** An attempt as the store counted it, to be given back. Holds no address and no account. */
export interface CountedAttempt {
  key: string
  windowEndsAt: number
}

/** Whether an attempt may be made: at once when `waitSeconds` is 0. `refundable` is for {@link giveBack}. */
export interface AttemptResult {
  waitSeconds: number
  refundable: readonly CountedAttempt[]
}

/** What counting needs from outside. */
export interface AttemptLimitPorts {
  store: AttemptStore
  runtime: Pick<Runtime, 'now'>
}

/**
 * Counts an attempt under each of `limits` in turn. It is counted before it is made, so that attempts at the same time cannot
 * pass a limit together. An attempt that one of them refuses is counted nowhere.
 */
export async function countWithin(
  limits: readonly AttemptLimit[],
  ports: AttemptLimitPorts,
): Promise<AttemptResult> {
  const { store, runtime } = ports
  const now = runtime.now()
  const full = fullWindowsOf(store)
  const known = limits.map(({ key }) => full.get(key)).find((window) => (window?.until ?? 0) > now)
  if (known !== undefined) return { waitSeconds: known.windowEndsAt - now, refundable: [] }
  const counted: (CountedAttempt & { refundable: boolean })[] = []
  for (const { key, max, windowSeconds, refundable = false } of limits) {
    const { count, windowEndsAt } = await store.countAttempt(key, windowSeconds, now)
    counted.push({ key, windowEndsAt, refundable })
    if (count > max) await giveBack(counted, ports)
    if (count >= max) {
      full.set(key, { windowEndsAt, until: Math.min(windowEndsAt, now + rememberedSeconds) })
    }
    if (count > max) return { waitSeconds: Math.max(1, windowEndsAt - now), refundable: [] }
  }
  const refundable = counted.filter((attempt) => attempt.refundable)
  return { waitSeconds: 0, refundable: refundable.map(({ key, windowEndsAt }) => ({ key, windowEndsAt })) }
}

/** Takes attempts back. While the store is out of reach they stay counted until their window ends. */
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
 * The limits of `rule` for one source. Those of its address come first, so a source that exceeds them uses up nothing
 * of the shared limits.
 */
export function limitsOf(
  { kind, perAddress, everyone }: AttemptRule,
  { address, known }: AttemptSource,
): AttemptLimit[] {
  return [
    ...addressLimits(kind, perAddress, address, siteMax(everyone.max)),
    ...everyoneLimits(kind, everyone, known),
  ]
}

/**
 * One limit for each block that `address` is counted in: a wider block may do more, and none more than `ceiling` or less than
 * one attempt. None without an address.
 */
export function addressLimits(
  kind: string,
  { max, windowSeconds }: Budget,
  address: string | undefined,
  ceiling: number = Number.POSITIVE_INFINITY,
): AttemptLimit[] {
  if (address === undefined) return []
  return addressBlocks(address).map(({ name, factor }) => ({
    key: addressKey(kind, name),
    max: blockMax(max, factor, ceiling),
    windowSeconds,
  }))
}

/** The limit for everybody together, of which strangers may use two thirds. */
export function everyoneLimits(kind: string, { max, windowSeconds }: Budget, known: boolean): AttemptLimit[] {
  const all = { key: kind, max, windowSeconds }
  const strangers = { key: `${kind} strangers`, max: strangersShare(max), windowSeconds }
  return known ? [all] : [strangers, all]
}

/** The key of a limit for one block of addresses. No address is in the store as such. */
export function addressKey(kind: string, block: string): string {
  return `${kind} ${hashSecret(`drawbridge ${kind} ${block}`)}`
}

function fullWindowsOf(store: AttemptStore): BoundedMap<{ windowEndsAt: number; until: number }> {
  const known =
    fullWindows.get(store) ?? createBoundedMap<{ windowEndsAt: number; until: number }>(maxRemembered)
  fullWindows.set(store, known)
  return known
}
