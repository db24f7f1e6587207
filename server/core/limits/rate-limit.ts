import { type BoundedMap, createBoundedMap } from '../bounded-map.ts'

/** An allowed rate: `burst` at once, and `perSecond` in the long run. */
export interface Rate {
  burst: number
  perSecond: number
}

interface Bucket {
  left: number
  filledAt: number
}

/**
 * Counts by key in this process only, with one token bucket per key. Times are epoch seconds.
 *
 * Keeps the `max` most recently counted keys; a forgotten key starts with a full burst, so memory stays bounded for any number of
 * sources.
 */
export class RateLimit {
  readonly #rate: Rate
  readonly #buckets: BoundedMap<Bucket>

  constructor(rate: Rate, max: number) {
    this.#rate = rate
    this.#buckets = createBoundedMap(max)
  }

  /** True when `key` has fewer than `count` left. Does not count. */
  isSpent(key: string, now: number, count = 1): boolean {
    return this.#leftAt(key, now) < count
  }

  /** Takes `count` from what `key` has left. */
  take(key: string, now: number, count = 1): void {
    this.#buckets.set(key, { left: Math.max(0, this.#leftAt(key, now) - count), filledAt: now })
  }

  /** A clock that was set back changes nothing. */
  #leftAt(key: string, now: number): number {
    const { burst, perSecond } = this.#rate
    const bucket = this.#buckets.get(key)
    return bucket ? Math.min(burst, bucket.left + Math.max(0, now - bucket.filledAt) * perSecond) : burst
  }
}
