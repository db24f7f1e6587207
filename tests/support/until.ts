import { setTimeout as delay } from 'node:timers/promises'

/**
 * Polls a condition, less and less often, since asking may be work for another process. Rejects with what it waited for when it never
 * holds.
 */
export async function until(
  holds: () => unknown,
  what: string | (() => string) = 'the condition',
  patienceMs = 25_000,
): Promise<void> {
  const end = performance.now() + patienceMs
  for (let waitMs = 2; performance.now() < end; waitMs = Math.min(waitMs + 1, 25)) {
    if (await holds()) return
    await delay(waitMs)
  }
  throw new Error(`Waited in vain for ${typeof what === 'string' ? what : what()}`)
}
