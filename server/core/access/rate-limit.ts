import { createBoundedMap } from '../bounded-map.ts'

/** How much of something is allowed: `burst` at once, and `perSecond` in the long run. */
export interface Rate {
  burst: number
  perSecond: number
}

/** Counts by key, in this process alone. Times are epoch seconds. */
export interface RateLimit {
  /** Whether `key` has fewer than `count` left, one unless given. Asking is free. */
  isSpent(key: string, now: number, count?: number): boolean
  /** Takes `count` from what `key` has left, one unless given. */
  take(key: string, now: number, count?: number): void
}

interface Bucket {
  left: number
  filledAt: number
}

/**
 * A {@link RateLimit} with one token bucket per key. It remembers the `max` keys that were counted last; an older key
 * is forgotten and starts with a full burst, so memory stays bounded for any set of sources.
 */
export function createRateLimit({ burst, perSecond }: Rate, max: number): RateLimit {
  const buckets = createBoundedMap<Bucket>(max)
  /** What is left at `now`. A clock that was set back fills nothing and takes nothing. */
  const leftAt = ({ left, filledAt }: Bucket, now: number): number =>
    Math.min(burst, left + Math.max(0, now - filledAt) * perSecond)
  return {
    isSpent(key, now, count = 1) {
      const bucket = buckets.get(key)
      return (bucket ? leftAt(bucket, now) : burst) < count
    },
    take(key, now, count = 1) {
      const bucket = buckets.get(key)
      const left = bucket ? leftAt(bucket, now) : burst
      buckets.set(key, { left: Math.max(0, left - count), filledAt: now })
    },
  }
}
