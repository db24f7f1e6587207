import { pause } from '@drawbridge/shared/async.ts'
import type { Envelope } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mayBeSentTwice } from '@drawbridge/shared/mcp/methods.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { NetworkError } from './http-client.ts'

// The one policy of sending again. A call that the server may have executed is never repeated.

interface Rule {
  /** The server may have executed the message. */
  executed: 'no' | 'maybe'
  /** How often the message is sent again after this ending. Where time decides, {@link Retries} does too. */
  times: number
  /** Methods that are never sent again, although they only read. */
  never?: readonly string[]
}

const rules = {
  /** No connection, or the request was not written whole. */
  unsent: { executed: 'no', times: Infinity },
  /** Nothing listens there, and nothing ever has: more likely the wrong port than a server that restarts. */
  never_there: { executed: 'no', times: 0 },
  /** The connection ended after the request was written, and before a response began. */
  broken: { executed: 'maybe', times: Infinity },
  /**
   * A response began, and did not arrive whole. A server that breaks off each time does so for a reason. A subscriber has to know
   * that it missed something.
   */
  cut_off: { executed: 'maybe', times: 3, never: ['subscriptions/listen'] },
  /**
   * The computer slept, and the connection did not outlive that. A session, and what waits for it, does not begin a second time by
   * itself.
   */
  slept: {
    executed: 'maybe',
    times: Infinity,
    never: ['initialize', 'server/discover', 'subscriptions/listen'],
  },
  /** 502, 503 or 504. */
  unavailable: { executed: 'maybe', times: Infinity },
  /** 429. */
  rate_limited: { executed: 'no', times: Infinity },
  /** 401, or 403 for lack of scope: the token can be replaced. */
  token_refused: { executed: 'no', times: 3 },
  /** Only a person can end the refusal. */
  sign_in_needed: { executed: 'no', times: 2 },
  session_lost: { executed: 'no', times: 1 },
  /** A header or the revision of the message was wrong; the right one is now known. */
  header_refused: { executed: 'no', times: 1 },
  other_transport: { executed: 'no', times: 1 },
  other_revision: { executed: 'no', times: 1 },
} satisfies Record<string, Rule>

/** The ways in which a message ends without a response. */
export type Ending = keyof typeof rules

/** A JSON-RPC message, or a bare HTTP request. A bare POST is assumed to have side effects. */
export type Sendable = Envelope | { kind: 'http'; method: string }

/** Decides whether to send again, `before` times after that ending. */
export function mayRepeat(ending: Ending, what: Sendable, before = 0): boolean {
  const { executed, times, never }: Rule = rules[ending]
  if (before >= times) return false
  if (executed === 'no') return true
  return isRepeatable(what) && !('method' in what && never?.includes(what.method) === true)
}

/** Returns whether sending it twice is harmless: it only reads, or is idempotent. */
function isRepeatable(what: Sendable): boolean {
  if (what.kind === 'http') return what.method !== 'POST'
  return what.kind === 'notification' || (what.kind === 'request' && mayBeSentTwice(what.method))
}

/** Returns how a request without a response ended; undefined if asking again would change nothing. */
export function endingOf(error: unknown): 'unsent' | 'broken' | undefined {
  if (!(error instanceof NetworkError)) return undefined
  if (error.fault === 'aborted' || error.fault === 'tls' || error.fault === 'protocol') return undefined
  // A proxy that answered 407 would answer the same again.
  if (error.fault === 'proxy' && error.nextStep !== undefined) return undefined
  return error.sent ? 'broken' : 'unsent'
}

const firstWaitMs = 100
const maxWaitMs = 1000

/** The retries of one message. */
export interface Retries {
  /** Resolves with true when it is time to send again, with false if that is forbidden, too late or not wanted any more. */
  after(ending: Ending, reason: string, askedMs?: number): Promise<boolean>
}

/**
 * Counts the retries of one message, first sent at `startedMs` (monotonic). Those that are not limited by number take `retryMs` at most, all
 * together; with 0 there are none.
 */
export function retriesOf(
  what: Sendable,
  { retryMs, signal }: { retryMs: number; signal: AbortSignal | undefined },
  { runtime, note }: { runtime: Pick<Runtime, 'sleep' | 'randomBytes'>; note(text: string): void },
  startedMs: number = performance.now(),
): Retries {
  let failures = 0
  const isAborted = (): boolean => signal?.aborted === true
  return {
    async after(ending, reason, askedMs = 0) {
      if (retryMs === 0 || isAborted() || !mayRepeat(ending, what, failures)) return false
      const ms = Math.max(backoffMs(runtime, failures, firstWaitMs, maxWaitMs), askedMs)
      if (rules[ending].times === Infinity && performance.now() - startedMs + ms > retryMs) return false
      failures += 1
      note(`sending again after ${reason}`)
      await pause(runtime, ms, signal)
      return !isAborted()
    },
  }
}

/** The wait after that many failures in a row: twice as long each time, up to `maxMs`, minus up to a quarter by chance. */
function backoffMs(
  runtime: Pick<Runtime, 'randomBytes'>,
  failures: number,
  firstMs: number,
  maxMs: number,
): number {
  const chance = (runtime.randomBytes(1)[0] ?? 0) / 255
  return Math.min(firstMs * 2 ** failures, maxMs) * (1 - chance / 4)
}

const minStreamWaitMs = 20
const maxStreamWaitMs = 300_000
const firstStreamWaitMs = 1400
const maxStreamBackoffMs = 30_000
const patientTurns = 5
const maxIdleWaitMs = 5000

/** An empty stream that ended sooner than that was no stream. */
const shortTurnMs = 1000

/** Balancers cut silent connections after a minute or so, which does not count as a failure. */
const lastingMs = 10_000

/** The waits before a stream is reopened. */
export class StreamWaits {
  #failures = 0
  #idleTurns = 0
  #askedMs: number | undefined
  #openedMs = performance.now()

  /** The stream works: it sent something, or is known to be alive for another reason. */
  reset(): void {
    this.#failures = 0
    this.#idleTurns = 0
  }

  /** The server named the time to wait. */
  asked(ms: number | undefined): void {
    this.#askedMs = ms ?? this.#askedMs
  }

  /**
   * Waits as long as the server asks, within bounds; otherwise longer after each failure.
   * A server whose streams are empty and end at once gets a request every few seconds, whatever it asks for.
   */
  async wait(runtime: Pick<Runtime, 'sleep' | 'randomBytes'>, signal: AbortSignal): Promise<void> {
    const lastedMs = performance.now() - this.#openedMs
    if (lastedMs >= lastingMs) this.#failures = 0
    if (lastedMs >= shortTurnMs) this.#idleTurns = 0
    await pause(runtime, this.#nextMs(runtime), signal)
    this.#failures += 1
    this.#idleTurns += 1
    this.#openedMs = performance.now()
  }

  #nextMs(runtime: Pick<Runtime, 'randomBytes'>): number {
    if (this.#askedMs === undefined)
      return backoffMs(runtime, this.#failures, firstStreamWaitMs, maxStreamBackoffMs)
    const wished = Math.min(Math.max(this.#askedMs, minStreamWaitMs), maxStreamWaitMs)
    const turns = this.#idleTurns - patientTurns
    return turns < 0 ? wished : Math.max(wished, Math.min(minStreamWaitMs * 2 ** turns, maxIdleWaitMs))
  }
}
