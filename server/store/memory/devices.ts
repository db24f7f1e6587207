import type { DeviceStore, PendingDevice } from '../../core/authorization/device-authorization-store.ts'
import { deviceRetentionSeconds } from '../retention.ts'
import { collectRows } from './part.ts'
import { type DeviceState, pollResult } from '../device-poll.ts'

interface DeviceRow extends DeviceState {
  device: PendingDevice
}

/** Devices that wait, of the memory store. */
export function createMemoryDevices(): {
  operations: DeviceStore
  collect(now: number, limit: number): number
} {
  const devices = new Map<string, DeviceRow>()
  const hashes = new Map<string, string>()

  return {
    operations: {
      async addDevice(device) {
        if (hashes.has(device.userCodeHash) || devices.has(device.deviceHash)) return false
        devices.set(device.deviceHash, {
          device,
          decision: undefined,
          polledAt: undefined,
          slowedSeconds: 0,
        })
        hashes.set(device.userCodeHash, device.deviceHash)
        return true
      },
      async findDevice(userCodeHash, now) {
        const row = devices.get(hashes.get(userCodeHash) ?? '')
        return row && !row.decision && row.device.expiresAt > now ? row.device : undefined
      },
      async decideDevice(deviceHash, decision, now) {
        const row = devices.get(deviceHash)
        if (!row || row.decision || row.device.expiresAt <= now) return false
        row.decision = decision
        return true
      },
      async pollDevice(deviceHash, intervalSeconds, now) {
        const row = devices.get(deviceHash)
        if (!row) return { kind: 'unknown' }
        const result = pollResult(row.device, row, intervalSeconds, now)
        if (result.kind === 'slow_down') row.slowedSeconds = result.intervalSeconds - intervalSeconds
        row.polledAt = now
        return result
      },
    },
    collect: (now, limit) =>
      collectRows(
        devices,
        ({ device }) => device.expiresAt + deviceRetentionSeconds <= now,
        limit,
        ({ device }) => hashes.delete(device.userCodeHash),
      ),
  }
}
