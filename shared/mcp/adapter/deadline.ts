import type { AdapterRuntime } from './ports.ts'

/** No longer than this at a time, so that no timer long outlives its cause. */
const maxSleepSeconds = 5

/**
 * Calls `onExpire` once, that many seconds from now by the clock of the runtime or up to five seconds later, unless the returned
 * function was called.
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
