// Loaded into a bridge before everything else: its clock is ahead by CLOCK_AHEAD_SECONDS, and jumps by CLOCK_JUMP_SECONDS
// at each SIGUSR2. Time that only goes forward is as it was, as when somebody sets the clock of a computer.
const EarlierDate = Date
let aheadMs = Number(process.env['CLOCK_AHEAD_SECONDS'] ?? 0) * 1000
const jumpMs = Number(process.env['CLOCK_JUMP_SECONDS'] ?? 0) * 1000

process.on('SIGUSR2', () => {
  aheadMs += jumpMs
})

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
