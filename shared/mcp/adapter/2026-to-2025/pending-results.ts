import { encodeBase64url } from '../../../base64url.ts'
import type { JsonObject } from '../../../json-object.ts'
import { maxInputSeconds } from '../input-required.ts'
import type { Deadlines } from '../deadlines.ts'
import type { AdapterRuntime } from '../ports.ts'

/** A call that waits for its client to send the request again, with input. */
export interface PendingResult {
  /** Returns true if a retry is the same request. Ignores `_meta`, whose progress token changes. */
  isSameRequest(method: string, params: JsonObject): boolean
  /** Ends the call. */
  abandon(reason: string): void
}

const maxPending = 64

/**
 * Calls by the `requestState` that the client got for them. They live in memory, so a state is of no use to another process. A
 * call is abandoned when the client does not retry within {@link maxInputSeconds}.
 */
export class PendingResults<T extends PendingResult> {
  readonly #runtime: Pick<AdapterRuntime, 'randomBytes'>
  readonly #deadlines: Deadlines
  readonly #pending = new Map<string, { call: T; clearDeadline(): void }>()

  constructor(runtime: Pick<AdapterRuntime, 'randomBytes'>, deadlines: Deadlines) {
    this.#runtime = runtime
    this.#deadlines = deadlines
  }

  /** Keeps a call and returns its `requestState`, random and good for one use. The oldest is abandoned when there are too many. */
  add(call: T): string {
    const [oldest] = this.#pending.keys()
    if (this.#pending.size >= maxPending && oldest !== undefined)
      this.#remove(oldest)?.abandon('Too many calls are waiting for input.')
    const requestState = encodeBase64url(this.#runtime.randomBytes(24))
    const clearDeadline = this.#deadlines.after(maxInputSeconds, () =>
      this.#remove(requestState)?.abandon('The input did not arrive in time.'),
    )
    this.#pending.set(requestState, { call, clearDeadline })
    return requestState
  }

  /** Removes and returns a call; undefined if the state is unknown, expired, used, or belongs to another request. */
  take(requestState: string, method: string, params: JsonObject): T | undefined {
    const call = this.#pending.get(requestState)?.call
    return call?.isSameRequest(method, params) ? this.#remove(requestState) : undefined
  }

  /** Abandons all calls. */
  close(): void {
    for (const requestState of this.#pending.keys())
      this.#remove(requestState)?.abandon('The connection is closed.')
  }

  #remove(requestState: string): T | undefined {
    const entry = this.#pending.get(requestState)
    this.#pending.delete(requestState)
    entry?.clearDeadline()
    return entry?.call
  }
}
