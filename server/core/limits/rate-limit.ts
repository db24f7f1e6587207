import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'

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
    this.#buckets = new BoundedMap(max)
  }

  /** True when `key` has fewer than `count` left. Does not count. */
  isSpent(key: string, now: number, count = 1, rate: Rate = this.#rate): boolean {
    return this.#leftAt(key, now, rate) < count
  }

  take(key: string, now: number, count = 1, rate: Rate = this.#rate): void {
    this.#buckets.set(key, { left: Math.max(0, this.#leftAt(key, now, rate) - count), filledAt: now })
  }

  /** A clock that was set back changes nothing. */
  #leftAt(key: string, now: number, { burst, perSecond }: Rate): number {
    const bucket = this.#buckets.get(key)
    return bucket ? Math.min(burst, bucket.left + Math.max(0, now - bucket.filledAt) * perSecond) : burst
  }
}

/** The share of one source: a rate, and how much of it may be in progress at once. Undefined: no limit. */
export interface SourceShare {
  key: string
  rate?: Rate | undefined
  atOnce?: number | undefined
}

/** Call `leave` once when admitted work is done. `key` is the key of the exceeded share. */
export type Admission =
  | { kind: 'admitted'; leave: () => void }
  | { kind: 'refused'; key: string; retryAfterSeconds: number }

interface SourceLoad {
  count: number
  underWay: number
}

const oneAtOnce: SourceLoad = { count: 1, underWay: 1 }
const maxSources = 100_000
const atOnceRetrySeconds = 1

/** Limits how often sources do something in this process, and how often at once. */
export class SourceLimit {
  readonly #rates = new RateLimit({ burst: 0, perSecond: 0 }, maxSources)
  readonly #underWay = new Map<string, number>()
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  /** Counts `count` and `underWay` for each of `shares`: all or none. Refused work is not counted, so it takes no memory. */
  enter(shares: readonly SourceShare[], { count, underWay }: SourceLoad = oneAtOnce): Admission {
    const running = ({ key }: SourceShare): number => this.#underWay.get(key) ?? 0
    const full = shares.find((each) => running(each) + underWay > (each.atOnce ?? Infinity))
    if (full) return { kind: 'refused', key: full.key, retryAfterSeconds: atOnceRetrySeconds }
    const now = this.#runtime.now()
    for (const { key, rate } of shares) {
      if (!rate || !this.#rates.isSpent(key, now, count, rate)) continue
      return { kind: 'refused', key, retryAfterSeconds: Math.max(1, Math.ceil(count / rate.perSecond)) }
    }
    for (const { key, rate } of shares) if (rate) this.#rates.take(key, now, count, rate)
    const counted = underWay > 0 ? shares.filter(({ atOnce }) => atOnce !== undefined) : []
    for (const each of counted) this.#underWay.set(each.key, running(each) + underWay)
    return { kind: 'admitted', leave: () => this.#leave(counted, underWay) }
  }

  #leave(shares: readonly SourceShare[], underWay: number): void {
    for (const { key } of shares) {
      const left = (this.#underWay.get(key) ?? 0) - underWay
      if (left > 0) this.#underWay.set(key, left)
      else this.#underWay.delete(key)
    }
  }
}
