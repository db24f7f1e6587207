import { atMost } from './retry.ts'

const maxWaitMs = 10_000

/**
 * Holds messages back until the server has accepted `notifications/initialized`: clients send their first requests right
 * behind it, and Python servers answer with an error what overtakes it.
 */
export class InitializeBarrier {
  #closed: Promise<void> | undefined

  /** Holds until this is over, however it ends, and for ten seconds at most. */
  holdUntil(confirming: Promise<unknown>): void {
    const wait = atMost(maxWaitMs, confirming)
    this.#closed = wait
    void wait.finally(() => {
      if (this.#closed === wait) this.#closed = undefined
    })
  }

  async opened(): Promise<void> {
    await this.#closed
  }
}

/** Whether a message is what the barrier waits for. */
export function confirmsInitialize(envelope: { kind: string; method?: string }): boolean {
  return envelope.kind === 'notification' && envelope.method === 'notifications/initialized'
}
