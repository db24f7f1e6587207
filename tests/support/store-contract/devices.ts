import { beforeEach, describe, expect, it } from 'vitest'
import type { PendingDevice } from '../../../server/core/authorization/device-authorization-store.ts'
import { start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Returns a device named `name` that waits ten minutes. */
export function deviceSample(name: string): PendingDevice {
  return {
    deviceHash: `device ${name}`,
    userCodeHash: `user code ${name}`,
    clientId: 'mcpc_1',
    scope: 'mcp offline_access',
    resource: 'https://mcp.example.com/mcp',
    address: '192.0.2.1',
    createdAt: start,
    expiresAt: start + 600,
  }
}

/** Store contract: devices that wait for approval. */
export function describeDevices(instances: StoreInstances): void {
  describeWaiting(instances)
  describeDecisions(instances)
  describePolls(instances)
}

function describeWaiting({ store, race }: StoreInstances): void {
  const device = deviceSample('a')

  describe('devices that wait', () => {
    it('the store finds devices by their user code', async () => {
      expect(await store().addDevice(device)).toBe(true)
      const other = { ...deviceSample('b'), address: undefined }
      expect(await store().addDevice(other)).toBe(true)
      for (const each of [device, other])
        expect(await store().findDevice(each.userCodeHash, start)).toStrictEqual(each)
    })

    it.each([
      ['a second before their end', 599, true],
      ['at their end', 600, false],
      ['an hour later', 600 + 3599, false],
    ])(
      'RFC 8628 3.2, RFC 8628 3.5: %s waiting devices are found, decided about and polled',
      async (_when, after, live) => {
        await store().addDevice(device)
        const now = start + after
        expect((await store().findDevice(device.userCodeHash, now)) !== undefined).toBe(live)
        expect((await store().pollDevice(device.deviceHash, 5, now)).kind).toBe(live ? 'pending' : 'expired')
        expect(await store().decideDevice(device.deviceHash, 'approved', now)).toBe(live)
        const decided = (await store().pollDevice(device.deviceHash, 5, start + 599)).kind
        expect(decided === 'approved').toBe(live)
      },
    )

    it('a device keeps its user code for itself until it is collected, decided or expired', async () => {
      await store().addDevice(device)
      const second = { ...deviceSample('b'), userCodeHash: device.userCodeHash, expiresAt: start + 9000 }
      expect(await store().addDevice(second)).toBe(false)
      await store().decideDevice(device.deviceHash, 'denied', start)
      expect(await store().addDevice(second)).toBe(false)
      expect((await store().pollDevice(second.deviceHash, 5, start)).kind).toBe('unknown')
      await store().collectExpired(start + 600 + 3600, 500)
      expect(await store().addDevice(second)).toBe(true)
      expect(await store().findDevice(device.userCodeHash, start)).toStrictEqual(second)
    })

    it('one of fifty devices at once gets the user code', async () => {
      const added = await race((each, index) => each.addDevice({ ...device, deviceHash: `device ${index}` }))
      expect(added.filter(Boolean)).toHaveLength(1)
      const found = await store().findDevice(device.userCodeHash, start)
      expect(found?.deviceHash).toBe(`device ${added.indexOf(true)}`)
    })
  })
}

function describeDecisions({ store, race }: StoreInstances): void {
  const device = deviceSample('a')
  const poll = (now: number) => store().pollDevice(device.deviceHash, 5, now)

  describe('devices that are decided about', () => {
    beforeEach(async () => {
      await store().addDevice(device)
      await store().addDevice(deviceSample('b'))
    })

    it.each(['approved', 'denied'] as const)(
      'a device is %s once, and not found any more',
      async (decision) => {
        expect(await store().decideDevice(device.deviceHash, decision, start)).toBe(true)
        for (const other of ['approved', 'denied'] as const) {
          expect(await store().decideDevice(device.deviceHash, other, start)).toBe(false)
        }
        expect(await store().findDevice(device.userCodeHash, start)).toBeUndefined()
        expect(await poll(start)).toStrictEqual(
          decision === 'approved' ? { kind: 'approved', device } : { kind: 'denied' },
        )
        expect(await store().findDevice('user code b', start)).toBeDefined()
        expect((await store().pollDevice('device b', 5, start)).kind).toBe('pending')
      },
    )

    it('fifty decisions about a device at once: one counts', async () => {
      const decide = (index: number) => (index % 2 ? 'approved' : 'denied')
      const decided = await race((each, index) => each.decideDevice(device.deviceHash, decide(index), start))
      expect(decided.filter(Boolean)).toHaveLength(1)
      expect((await poll(start)).kind).toBe(decide(decided.indexOf(true)))
    })
  })
}

function describePolls({ store, race }: StoreInstances): void {
  const device = deviceSample('a')
  const poll = (after: number, interval = 5) => store().pollDevice(device.deviceHash, interval, start + after)
  const slow = { kind: 'slow_down' }
  const pending = { kind: 'pending' }

  describe('polls of a device', () => {
    beforeEach(() => store().addDevice(device))

    it.each<[string, readonly number[], readonly unknown[]]>([
      ['the first may come at once', [0], [pending]],
      ['at the interval each is in time', [0, 5, 10, 15], [pending, pending, pending, pending]],
      [
        'a second early is in time, as times are whole seconds',
        [0, 4, 8, 13],
        [pending, pending, pending, pending],
      ],
      ['two seconds early is too early', [0, 3], [pending, slow]],
      ['the first interval is in time again', [0, 1, 6, 11], [pending, slow, pending, pending]],
      ['the time counts from the poll before, early or not', [0, 3, 6], [pending, slow, slow]],
      ['a clock that runs behind is early', [7, 3], [pending, slow]],
    ])('RFC 8628 3.5: %s', async (_what, times, expected) => {
      const told: unknown[] = []
      for (const after of times) told.push(await poll(after))
      expect(told).toStrictEqual(expected)
    })

    it('the interval of polls is the requested one from the start', async () => {
      expect([await poll(0, 2), await poll(1, 2), await poll(1, 2), await poll(5, 9)]).toEqual([
        pending,
        pending,
        slow,
        slow,
      ])
    })

    it('the store counts polls of each device apart', async () => {
      await store().addDevice(deviceSample('b'))
      await poll(0)
      expect(await store().pollDevice('device b', 5, start)).toEqual(pending)
    })

    it.each(['approved', 'denied'] as const)('a device expires whether %s or not', async (decision) => {
      await store().decideDevice(device.deviceHash, decision, start)
      expect((await poll(599)).kind).toBe(decision)
      expect(await poll(600)).toEqual({ kind: 'expired' })
    })

    it('polling too early after a decision returns it, each time', async () => {
      await poll(0)
      await store().decideDevice(device.deviceHash, 'approved', start)
      for (const after of [0, 0, 1]) expect(await poll(after)).toStrictEqual({ kind: 'approved', device })
    })

    it('fifty polls of a device at once: one is in time', async () => {
      const told = await race((each) => each.pollDevice(device.deviceHash, 5, start))
      expect(told.filter(({ kind }) => kind === 'pending')).toHaveLength(1)
      expect(told.filter(({ kind }) => kind === 'slow_down')).toHaveLength(49)
    })
  })
}
