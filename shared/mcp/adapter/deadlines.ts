import type { Runtime } from '../../runtime.ts'

/** Things that expire, by the clock of {@link Runtime}. */
export interface Deadlines {
  /** Calls `expire` once, that many seconds from now or up to five seconds later, unless the returned function was called. */
  after(seconds: number, expire: () => void): () => void
  /** Forgets everything. */
  close(): void
}

/** One sleep at a time however much there is to expire, none when there is nothing, so that no timer outlives its cause. */
const maxSleepSeconds = 5

/** No deadline is kept across `close`. */
export function createDeadlines(runtime: Runtime): Deadlines {
  const entries = new Set<{ at: number; expire: () => void }>()
  let running = false
  let closed = false

  async function run(): Promise<void> {
    running = true
    while (entries.size > 0) {
      const nearest = Math.min(...[...entries].map(({ at }) => at)) - runtime.now()
      await runtime.sleep(Math.min(Math.max(nearest, 1), maxSleepSeconds) * 1000)
      for (const entry of entries) {
        if (entry.at > runtime.now() || !entries.delete(entry)) continue
        entry.expire()
      }
    }
    running = false
  }

  return {
    after(seconds, expire) {
      if (closed) return () => {}
      const entry = { at: runtime.now() + seconds, expire }
      entries.add(entry)
      if (!running) void run()
      return () => void entries.delete(entry)
    },
    close() {
      closed = true
      entries.clear()
    },
  }
}
