/** The clocks of a computer, in milliseconds. None of them alone tells whether it has slept. */
export interface Clocks {
  /** Is never set. Goes on during a sleep on macOS and Windows, and stands still on Linux. */
  monotonicMs(): number
  /** Since the computer was started, its sleep included. Is never set. */
  uptimeMs(): number
  /** The one that people read, and put right. */
  wallMs(): number
}

/**
 * What has happened since the last look. `leapt`: only the wall clock went ahead. Somebody has set it, or this is a virtual
 * machine whose host has slept: its other clocks knew nothing of that.
 */
export type Sleep = 'none' | 'leapt' | 'slept'

/** Finds out whether time has passed in which this process could do nothing. */
export interface SleepWatch {
  /** To be called every second or so. */
  look(): Sleep
  /** Whether it is worth looking before the next time: the timer may come a second after the computer wakes. Costs little. */
  isLookDue(): boolean
}

/** Shorter sleeps do no harm to a connection, and timers are late for many reasons. */
const longMs = 30_000

/** A process that was stopped has slept too. */
export function createSleepWatch(clocks: Clocks): SleepWatch {
  let last = read()

  function read(): { monotonic: number; uptime: number; wall: number } {
    return { monotonic: clocks.monotonicMs(), uptime: clocks.uptimeMs(), wall: clocks.wallMs() }
  }

  return {
    look() {
      const before = last
      last = read()
      const monotonic = last.monotonic - before.monotonic
      if (Math.max(monotonic, last.uptime - before.uptime) > longMs) return 'slept'
      return last.wall - before.wall - monotonic > longMs ? 'leapt' : 'none'
    },
    isLookDue: () => clocks.wallMs() - last.wall > longMs,
  }
}
