import type { AdapterRuntime } from './ports.ts'

/** Sleeps are at most this long, so that no timer long outlives its cause. */
const maxSleepSeconds = 5

/**
 * Calls `onExpire` once after this many seconds by the runtime's clock, or up to five seconds later. Calling the returned function
 * cancels it.
 */
export function after(
  runtime: Pick<AdapterRuntime, 'now' | 'sleep'>,
  seconds: number,
  onExpire: () => void,
): () => void {
  const at = runtime.now() + seconds
  const cancelled = new AbortController()
  const { signal } = cancelled
  const run = async (): Promise<void> => {
    while (!signal.aborted && runtime.now() < at)
      await runtime.sleep(Math.min(Math.max(at - runtime.now(), 1), maxSleepSeconds) * 1000)
    if (!signal.aborted) onExpire()
  }
  void run()
  return () => cancelled.abort()
}
