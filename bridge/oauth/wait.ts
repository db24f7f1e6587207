import { unlessAborted, within } from '@drawbridge/shared/async.ts'
import { OAuthFailure } from './login-port.ts'

/** The longest delay of a timer. */
const maxMs = 2 ** 31 - 1

/** Rejects with {@link OAuthFailure} `timeout` or `cancelled`; does not end the work itself. */
export async function beforeTimeout<Value extends object>(
  work: Promise<Value>,
  limitMs: number,
  signal: AbortSignal,
): Promise<Value> {
  const result = await within(Math.min(limitMs, maxMs), unlessAborted(work, signal, cancelled))
  if (result === undefined) throw new OAuthFailure('timeout', 'The sign-in timed out.')
  return result
}

/** Calls `work` with a signal that is aborted with `signal`, after `limitMs`, and when the work has ended. */
export async function withLimit<Value>(
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  // Not AbortSignal.any: some releases of Node 20 and 22 garbage-collect such a signal too early.
  const limit = new AbortController()
  const stop = (): void => limit.abort()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(stop, Math.min(limitMs, maxMs))
  try {
    return await work(limit.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** Creates the error of a sign-in that its caller cancelled. */
export function cancelled(cause?: unknown): OAuthFailure {
  return new OAuthFailure('cancelled', 'The sign-in was cancelled.', { cause })
}
