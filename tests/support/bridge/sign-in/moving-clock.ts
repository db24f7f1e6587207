// Loaded into a bridge first: its clock is ahead by CLOCK_AHEAD_SECONDS, and jumps by CLOCK_JUMP_SECONDS at each
// SIGUSR2. The monotonic clock is unaffected, as when a user sets the computer's clock.
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
