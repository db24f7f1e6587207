import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessSlot } from './process-slot.ts'
import type { ProcessStarter } from './process/process-starter.ts'
import type { ServingTerms } from './process/served-process.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { RateLimit } from '../../core/limits/rate-limit.ts'
import { createBoundedMap } from '../../core/bounded-map.ts'

const roomCheckMs = 50

/** Room for processes, within the limits for each person and for all. The one that has been idle for the longest makes it. */
export class ProcessRoom {
  readonly #terms: Pick<ServingTerms, 'upstream' | 'report'>
  readonly #starter: ProcessStarter
  readonly #live: ReadonlyMap<string, ProcessSlot>
  readonly #rest: (slot: ProcessSlot) => void

  /** `rest` ends the process of one of the slots. */
  constructor(
    terms: Pick<ServingTerms, 'upstream' | 'report'>,
    starter: ProcessStarter,
    live: ReadonlyMap<string, ProcessSlot>,
    rest: (slot: ProcessSlot) => void,
  ) {
    this.#terms = terms
    this.#starter = starter
    this.#live = live
    this.#rest = rest
  }

  /** Resolves when there is room for the process of a slot. Rejects when there is none within the time of a start. */
  async wait(slot: ProcessSlot): Promise<void> {
    const until = performance.now() + this.#terms.upstream.startTimeoutSeconds * 1000
    while (!slot.isOver && !this.#hasRoom(slot)) {
      if (performance.now() > until) {
        this.#terms.report('upstream_full', { count: this.#starter.counts.existing })
        throw refusals.allInUse()
      }
      await sleep(roomCheckMs)
    }
    if (slot.isOver) throw refusals.stopped()
  }

  #hasRoom(slot: ProcessSlot): boolean {
    const { maxPerUser, maxProcesses, process } = this.#terms.upstream
    const running = [...this.#live.values()].filter((each) => each.process)
    const own = running.filter(({ userId }) => userId === slot.userId)
    if (process === 'user' && own.length >= maxPerUser && !this.#evictOneOf(own)) return false
    const { existing, ending } = this.#starter.counts
    if (existing < maxProcesses) return true
    // One that is ending makes room in a moment.
    if (existing - ending >= maxProcesses) this.#evictOneOf(running)
    return false
  }

  #evictOneOf(slots: readonly ProcessSlot[]): boolean {
    const spare = slots.filter(({ isSpare }) => isSpare)
    const [longest] = spare.toSorted((a, b) => b.idleSeconds - a.idleSeconds)
    if (longest) this.#rest(longest)
    return longest !== undefined
  }
}

const maxDeaths = 3
const windowSeconds = 60
const maxKeys = 10_000
/** Seconds before the next start, by the number of deaths within the window. */
const pauses = [0, 0, 1, 2] as const
/** Starts of processes of one person. */
const startRate = { burst: 30, perSecond: 0.5 }

/**
 * Keeps processes that die again and again from being started again and again, callers from ending them again and again, and people from
 * having too many started.
 */
export class StartLimits {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #starts = new RateLimit(startRate, maxKeys)
  /** When the latest deaths were, by whose process it was, and by who called last. */
  readonly #deaths = createBoundedMap<readonly number[]>(maxKeys)

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  /** Counts a death against who called last, and says whether that was one too many. */
  recordDeath(userId: string, latestCaller: string): boolean {
    for (const key of new Set([userId, latestCaller]))
      this.#deaths.set(key, [...this.#recent(key), this.#runtime.now()])
    return this.#recent(latestCaller).length === maxDeaths
  }

  /** Throws while the calls of `caller` keep ending processes. */
  refuse(caller: string): void {
    const first = this.#recent(caller).at(-maxDeaths)
    if (first !== undefined) throw refusals.keepsEnding(first + windowSeconds - this.#runtime.now())
  }

  /** Throws when that person has had too many processes started. */
  countStart(userId: string): void {
    const now = this.#runtime.now()
    if (this.#starts.isSpent(userId, now)) throw refusals.startsTooOften(Math.ceil(1 / startRate.perSecond))
    this.#starts.take(userId, now)
  }

  /** Returns the seconds to wait before a process is started again. */
  pauseBefore(userId: string): number {
    return pauses[Math.min(this.#recent(userId).length, pauses.length - 1)] ?? 0
  }

  #recent(key: string): readonly number[] {
    const since = this.#runtime.now() - windowSeconds
    return (this.#deaths.get(key) ?? []).filter((time) => time > since)
  }
}

/** A message cannot be served now. The text is for the client, and ends with the next step. */
export class Unavailable extends Error {
  readonly status: 502 | 503 | 504
  readonly retryAfterSeconds: number | undefined

  constructor(status: Unavailable['status'], message: string, retryAfterSeconds?: number) {
    super(message)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

const fullRetrySeconds = 5

/** The reasons why there is no process for a message. */
export const refusals = {
  stopped: (): Unavailable =>
    new Unavailable(503, 'The server behind this one was stopped. Try again in a moment.', 1),
  notStarted: (status: 502 | 504): Unavailable =>
    new Unavailable(
      status,
      'The server behind this one did not start. Try again in a moment; if it goes on, tell the operator.',
    ),
  noProviderToken: (): Unavailable =>
    new Unavailable(
      502,
      'Your sign-in at the app is not available to this server now. Try again in a moment; if it goes on, sign in again.',
    ),
  keepsEnding: (seconds: number): Unavailable =>
    new Unavailable(
      503,
      `The server behind this one keeps ending during your calls. Wait ${seconds} s, then try again; if it goes on, tell the operator.`,
      seconds,
    ),
  startsTooOften: (seconds: number): Unavailable =>
    new Unavailable(
      503,
      `Your clients start processes of the server behind this one too often. Wait ${seconds} s, then try again.`,
      seconds,
    ),
  allInUse: (): Unavailable =>
    new Unavailable(
      503,
      `All of the server's processes are in use. Close a client, or wait ${fullRetrySeconds} s and try again.`,
      fullRetrySeconds,
    ),
}
