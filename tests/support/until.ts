import { setTimeout as delay } from 'node:timers/promises'

/** Polls a condition every few milliseconds; rejects with what it waited for when it never holds. */
export async function until(
  holds: () => unknown,
  what: string | (() => string) = 'the condition',
  patienceMs = 25_000,
): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await delay(5)) {
    if (await holds()) return
  }
  throw new Error(`Waited in vain for ${typeof what === 'string' ? what : what()}`)
}
