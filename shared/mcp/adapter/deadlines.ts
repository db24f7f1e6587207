import type { AdapterRuntime } from './ports.ts'

/** No longer than this at a time, so that no timer long outlives its cause. */
const maxSleepSeconds = 5

/** Deadlines by the clock of the runtime. All share one sleep, and nothing sleeps when there are none. */
export class Deadlines {
  readonly #runtime: Pick<AdapterRuntime, 'now' | 'sleep'>
  readonly #entries = new Set<{ at: number; onExpire: () => void }>()
  #isRunning = false
  #isClosed = false

  constructor(runtime: Pick<AdapterRuntime, 'now' | 'sleep'>) {
    this.#runtime = runtime
  }

  /** Calls `onExpire` once, that many seconds from now or up to five seconds later, unless the returned function was called. */
  after(seconds: number, onExpire: () => void): () => void {
    if (this.#isClosed) return () => {}
    const entry = { at: this.#runtime.now() + seconds, onExpire }
    this.#entries.add(entry)
    if (!this.#isRunning) void this.#run()
    return () => void this.#entries.delete(entry)
  }

  /** Drops all deadlines. */
  close(): void {
    this.#isClosed = true
    this.#entries.clear()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#entries.size > 0) {
      const nearest = Math.min(...[...this.#entries].map(({ at }) => at)) - this.#runtime.now()
      await this.#runtime.sleep(Math.min(Math.max(nearest, 1), maxSleepSeconds) * 1000)
      for (const entry of this.#entries) {
        if (entry.at > this.#runtime.now() || !this.#entries.delete(entry)) continue
        entry.onExpire()
      }
    }
    this.#isRunning = false
  }
}
