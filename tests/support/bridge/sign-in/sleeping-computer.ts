// Loaded into a bridge first: at each SIGUSR2 its computer has slept for SLEEP_SECONDS. The wall clock and the time
// since boot have advanced, but the monotonic clock has not, as on Linux. With SLEEP_SECONDS_OF=wall only the wall
// clock advances, as when a user sets it. Reports on stderr when done.
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

const EarlierDate = Date
const earlierUptime = os.uptime
const napMs = Number(process.env['SLEEP_SECONDS'] ?? 0) * 1000
const isClockOnly = process.env['SLEEP_SECONDS_OF'] === 'wall'
let sleptMs = 0

process.on('SIGUSR2', () => {
  sleptMs += napMs
  process.stderr.write('awake again\n')
})

os.uptime = () => earlierUptime() + (isClockOnly ? 0 : sleptMs / 1000)
syncBuiltinESMExports()

globalThis.Date = new Proxy(EarlierDate, {
  construct: (target, given: [], newTarget) =>
    Reflect.construct(
      target,
      given.length === 0 ? [target.now() + sleptMs] : given,
      newTarget,
    ) as InstanceType<DateConstructor>,
  get: (target, name, receiver): unknown =>
    name === 'now' ? () => target.now() + sleptMs : Reflect.get(target, name, receiver),
})
