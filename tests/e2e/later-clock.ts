// Preloaded into a server to shift its clock ahead by that many seconds.
const aheadMs = Number(process.env['CLOCK_AHEAD_SECONDS'] ?? 0) * 1000
const EarlierDate = Date

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
