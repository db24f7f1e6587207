import { renameSync, writeFileSync } from 'node:fs'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { systemRuntime } from '../server/startup/system-runtime.ts'

/** A clock that runs at its usual speed and can be put ahead, in this process and in those that have its `environment`. */
export interface MovedClock {
  /** Seconds since the epoch. */
  now(): number
  /** Puts it ahead; does nothing when it is later already. */
  moveTo(seconds: number): void
  /** For this process. */
  runtime: Runtime
  /** For other processes. */
  environment: Readonly<Record<string, string>>
}

/** Creates a clock that shows the time of the system. `file` is its own. */
export function createMovedClock(file: string): MovedClock {
  let ahead = 0
  const write = (): void => {
    // At once: a process may read it at any moment.
    writeFileSync(`${file}.new`, String(ahead))
    renameSync(`${file}.new`, file)
  }
  write()
  const now = (): number => systemRuntime.now() + ahead
  return {
    now,
    moveTo(seconds) {
      ahead += Math.max(0, seconds - now())
      write()
    },
    runtime: { ...systemRuntime, now },
    environment: {
      NODE_OPTIONS: `--import=${new URL('../tests/support/other-clock.ts', import.meta.url).href}`,
      CLOCK_AHEAD_FILE: file,
    },
  }
}
