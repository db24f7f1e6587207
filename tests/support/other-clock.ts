// Loaded into a bridge or a server first: its clock is ahead by CLOCK_AHEAD_SECONDS, and jumps by CLOCK_JUMP_SECONDS at each
// SIGUSR2, and the time since boot with it, as after a sleep of the computer. The monotonic clock is unaffected, as on
// Linux. Reports on stderr when done. With CLOCK_AHEAD_FILE it is ahead by as many seconds as that file says, at any time.
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

const EarlierDate = Date
const earlierUptime = os.uptime
const jumpMs = Number(process.env['CLOCK_JUMP_SECONDS'] ?? 0) * 1000
let aheadMs = Number(process.env['CLOCK_AHEAD_SECONDS'] ?? 0) * 1000
let sleptMs = 0
const file = process.env['CLOCK_AHEAD_FILE']
const ahead = (): number => (file === undefined ? aheadMs : Number(readFileSync(file, 'utf8')) * 1000)

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
      given.length === 0 ? [target.now() + ahead()] : given,
      newTarget,
    ) as InstanceType<DateConstructor>,
  get: (target, name, receiver): unknown =>
    name === 'now' ? () => target.now() + ahead() : Reflect.get(target, name, receiver),
})
