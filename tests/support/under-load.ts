import { availableParallelism, loadavg } from 'node:os'

/**
 * How many times slower than on an idle computer a process may be here now: at least twice, as each test file starts
 * several at once, and more when more processes want to run than there are processors.
 */
export function slowness(): number {
  const [lastMinute = 0] = loadavg()
  return Math.max(2, lastMinute / availableParallelism())
}

/** How many milliseconds something may take here now that takes `ms` at most on an idle computer. */
export function underLoad(ms: number): number {
  return ms * slowness()
}
