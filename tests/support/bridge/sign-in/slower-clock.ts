// Loaded into a bridge first: its timers and its monotonic clock run SLOWNESS times slower. A time limit of one
// second then lasts that many seconds, so that a busy computer causes no timeouts.
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const slowness = Number(process.env['SLOWNESS'] ?? 1)
const { setTimeout } = globalThis
const delay = timers.setTimeout
const now = performance.now.bind(performance)

globalThis.setTimeout = Object.assign(
  (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    setTimeout(work, ms * slowness, ...args),
  setTimeout,
)
timers.setTimeout = (ms, ...rest) => delay((ms ?? 0) * slowness, ...rest)
performance.now = () => now() / slowness
syncBuiltinESMExports()
