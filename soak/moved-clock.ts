import { renameSync, writeFileSync } from 'node:fs'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { systemRuntime } from '../server/startup/system-runtime.ts'

/**
 * Creates a clock that shows the time of the system and can be put ahead, in this process and in those that have its `environment`;
 * it runs at its usual speed. `file` is its own.
 */
export function createMovedClock(file: string) {
  let ahead = 0
  const write = (): void => {
    // At once: a process may read it at any moment.
    writeFileSync(`${file}.new`, String(ahead))
    renameSync(`${file}.new`, file)
  }
  write()
  const now = (): number => systemRuntime.now() + ahead
  const runtime: Runtime = { ...systemRuntime, now }
  return {
    runtime,
    /** Puts it ahead; does nothing when it is later already. */
    moveTo(seconds: number) {
      ahead += Math.max(0, seconds - now())
      write()
    },
    environment: {
      NODE_OPTIONS: `--import=${new URL('../tests/support/other-clock.ts', import.meta.url).href}`,
      CLOCK_AHEAD_FILE: file,
    },
  }
}
