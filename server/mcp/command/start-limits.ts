import { ServiceCallerError } from '../../core/tokens/caller.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { RateLimit } from '../../core/limits/rate-limit.ts'

const maxDeaths = 3
const windowSeconds = 60
const maxKeys = 10_000
/** Starts of processes of one person, or of a shared one. */
const startRate = { burst: 30, perSecond: 0.5 }

/**
 * Keeps processes that die again and again from being started again and again, callers from ending them again and again, and people from
 * having too many started.
 */
export class StartLimits {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #starts = new RateLimit(startRate, maxKeys)
  /** When the latest deaths were, by who called last. */
  readonly #deaths = new BoundedMap<readonly number[]>(maxKeys)

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  /** Counts a death against who called last, and says whether that was one too many. */
  recordDeath(latestCaller: string): boolean {
    const deaths = [...this.#recent(latestCaller), this.#runtime.now()]
    this.#deaths.set(latestCaller, deaths)
    return deaths.length === maxDeaths
  }

  /**
   * Throws while the calls of `caller` keep ending processes, or when `owner`, the person whose process it is, has had too many started.
   * For calls that start a process, and for all to a shared one.
   */
  admit(owner: string, caller: string, starts: boolean): void {
    const now = this.#runtime.now()
    const first = this.#recent(caller).at(-maxDeaths)
    if (first !== undefined) throw refusals.keepsEnding(first + windowSeconds - now)
    if (!starts) return
    if (this.#starts.isSpent(owner, now)) throw refusals.startsTooOften(Math.ceil(1 / startRate.perSecond))
    this.#starts.take(owner, now)
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

/** The refusals of messages that get no process. */
export const refusals = {
  stopped: (): Unavailable =>
    new Unavailable(503, 'The server behind this one was stopped. Try again in a moment.', 1),
  notStarted: (status: 502 | 504): Unavailable =>
    new Unavailable(
      status,
      'The server behind this one did not start. Try again in a moment; if it goes on, tell the operator.',
    ),
  service: (): Unavailable => new Unavailable(502, new ServiceCallerError().message),
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
