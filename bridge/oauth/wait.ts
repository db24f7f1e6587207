import { OAuthFailure } from './login-port.ts'

/** What `work` resolves with, or undefined when that takes longer; rejects with it. Leaves no timer behind. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

/** Ends the wait of one caller with the reason of its signal; the work goes on for the others. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  let leave: (() => void) | undefined
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason as Error)
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([left, work])
  } finally {
    if (leave !== undefined) signal.removeEventListener('abort', leave)
  }
}

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
