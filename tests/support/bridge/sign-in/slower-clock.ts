// Loaded into a bridge before everything else: its timers and its monotonic clock run SLOWNESS times slower. What it gives
// itself a second for takes as many seconds then, so that a busy computer is no reason for it to give up.
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
