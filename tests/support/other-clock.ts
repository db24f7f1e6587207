// Loaded into a bridge or a server first: its clock is ahead by CLOCK_AHEAD_SECONDS, and jumps by CLOCK_JUMP_SECONDS at each
// SIGUSR2, and the time since boot with it, as after a sleep of the computer. The monotonic clock is unaffected, as on
// Linux. Reports on stderr when done.
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

const EarlierDate = Date
const earlierUptime = os.uptime
const jumpMs = Number(process.env['CLOCK_JUMP_SECONDS'] ?? 0) * 1000
let aheadMs = Number(process.env['CLOCK_AHEAD_SECONDS'] ?? 0) * 1000
let sleptMs = 0

process.on('SIGUSR2', () => {
  aheadMs += jumpMs
  sleptMs += jumpMs
  process.stderr.write('the clock has jumped\n')
})

os.uptime = () => earlierUptime() + sleptMs / 1000
syncBuiltinESMExports()

globalThis.Date = new Proxy(EarlierDate, {
  construct: (target, given: [], newTarget) =>
    Reflect.construct(
      target,
      given.length === 0 ? [target.now() + aheadMs] : given,
      newTarget,
    ) as InstanceType<DateConstructor>,
  get: (target, name, receiver): unknown =>
    name === 'now' ? () => target.now() + aheadMs : Reflect.get(target, name, receiver),
})
