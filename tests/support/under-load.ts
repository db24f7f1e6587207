import { availableParallelism, loadavg } from 'node:os'

/**
 * Returns how many times slower than on an idle computer a process may be now: at least twice, as each test file
 * starts several at once, and more when more processes want to run than there are processors.
 */
export function slowness(): number {
  const [lastMinute = 0] = loadavg()
  return Math.max(2, lastMinute / availableParallelism())
}

/** Returns the milliseconds that something may take now which takes `ms` at most on an idle computer. */
export function underLoad(ms: number): number {
  return ms * slowness()
}
