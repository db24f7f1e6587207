import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createRateLimit, type Rate, type RateLimit } from './rate-limit.ts'

/** How much one person may call, over all credentials of theirs, in this process. Undefined: no limit. */
export interface CallLimits {
  rate: Rate | undefined
  atOnce: number | undefined
}

/** Whether calls may be made. Who may make them calls `leave` once, when they are over. */
export type CallAdmission =
  | { kind: 'admitted'; leave: () => void }
  | { kind: 'refused'; retryAfterSeconds: number }

/** People that are counted at once. One that was forgotten has the whole burst again. */
const maxPeople = 100_000
const atOnceRetrySeconds = 1

/** Limits calls per person: how many in a minute, and how many at once. */
export class CallLimit {
  readonly #limits: CallLimits
  readonly #rate: RateLimit | undefined
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #underWay = new Map<string, number>()

  constructor(limits: CallLimits, runtime: Pick<Runtime, 'now'>) {
    this.#limits = limits
    this.#rate = limits.rate && createRateLimit(limits.rate, maxPeople)
    this.#runtime = runtime
  }

  /** Asks to make `count` calls at once, as in a batch: all or none. */
  enter(userId: string, count: number): CallAdmission {
    const { rate, atOnce } = this.#limits
    const underWay = this.#underWay.get(userId) ?? 0
    if (atOnce !== undefined && underWay + count > atOnce) {
      return { kind: 'refused', retryAfterSeconds: atOnceRetrySeconds }
    }
    const now = this.#runtime.now()
    if (rate && this.#rate?.isSpent(userId, now, count)) {
      return { kind: 'refused', retryAfterSeconds: Math.max(1, Math.ceil(count / rate.perSecond)) }
    }
    this.#rate?.take(userId, now, count)
    this.#underWay.set(userId, underWay + count)
    return { kind: 'admitted', leave: () => this.#leave(userId, count) }
  }

  #leave(userId: string, count: number): void {
    const left = (this.#underWay.get(userId) ?? 0) - count
    if (left > 0) this.#underWay.set(userId, left)
    else this.#underWay.delete(userId)
  }
}
