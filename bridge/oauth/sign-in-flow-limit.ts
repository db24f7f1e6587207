import { OAuthFailure } from './login-port.ts'

/** The longest that a timer can run. */
const maxMs = 2 ** 31 - 1

/**
 * What `work` resolves with. Rejects with {@link OAuthFailure} `timeout` after `limitMs`, `cancelled` when `signal` is
 * aborted; the work itself is not ended. Leaves no timer behind.
 */
export async function beforeTimeout<T>(work: Promise<T>, limitMs: number, signal: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let abort: (() => void) | undefined
  const ended = new Promise<never>((_resolve, reject) => {
    abort = () => reject(cancelled())
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    timer = setTimeout(
      () => reject(new OAuthFailure('timeout', 'Nobody finished the sign-in in time.')),
      Math.min(limitMs, maxMs),
    )
  })
  try {
    return await Promise.race([work, ended])
  } finally {
    clearTimeout(timer)
    if (abort !== undefined) signal.removeEventListener('abort', abort)
  }
}

/** What a sign-in rejects with that its caller gave up. */
export function cancelled(cause?: unknown): OAuthFailure {
  return new OAuthFailure('cancelled', 'The sign-in was given up.', { cause })
}
