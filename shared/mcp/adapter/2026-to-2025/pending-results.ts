import { encodeBase64url } from '../../../base64url.ts'
import type { JsonObject } from '../../../json-object.ts'
import type { Runtime } from '../../../runtime.ts'
import { answerSeconds } from '../input-required.ts'
import type { Deadlines } from '../deadlines.ts'

/** A call that waits for its client to come back. */
export interface PendingResult {
  /** Whether a retry is the same request. `_meta` does not count: its progress token changes. */
  isSameRequest(method: string, params: JsonObject): boolean
  /** Ends the call. */
  abandon(reason: string): void
}

/** Calls by the `requestState` that was given out for them. They live in memory: a state is worth nothing to another process. */
export interface PendingResults<T extends PendingResult> {
  /** Keeps a call and returns the `requestState` for it: random, good for one time. The oldest is given up when there are too many. */
  park(call: T): string
  /** Takes a call out; undefined if the state is unknown, expired, used, or was given for another request. */
  take(requestState: string, method: string, params: JsonObject): T | undefined
  /** Gives up all of them. */
  close(): void
}

const maxPending = 64

/** A call is abandoned when the client does not retry within {@link answerSeconds}. */
export function createPendingResults<T extends PendingResult>(
  runtime: Runtime,
  deadlines: Deadlines,
): PendingResults<T> {
  const pending = new Map<string, { call: T; clear(): void }>()

  function remove(requestState: string): T | undefined {
    const entry = pending.get(requestState)
    pending.delete(requestState)
    entry?.clear()
    return entry?.call
  }

  return {
    park(call) {
      const [oldest] = pending.keys()
      if (pending.size >= maxPending && oldest !== undefined)
        remove(oldest)?.abandon('Too many calls wait for input.')
      const requestState = encodeBase64url(runtime.randomBytes(24))
      const clear = deadlines.after(answerSeconds, () =>
        remove(requestState)?.abandon('The input did not come in time.'),
      )
      pending.set(requestState, { call, clear })
      return requestState
    },
    take(requestState, method, params) {
      const call = pending.get(requestState)?.call
      return call?.isSameRequest(method, params) ? remove(requestState) : undefined
    },
    close() {
      for (const requestState of pending.keys()) remove(requestState)?.abandon('The connection is closed.')
    },
  }
}
