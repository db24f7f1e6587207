import type {
  DevicePoll,
  DeviceStore,
  PendingDevice,
} from '../../core/authorization/device-authorization-store.ts'
import { camelCased, type SqlDatabase, withoutNulls, type WithoutNulls } from './sql.ts'

/** Times are whole seconds, and a network delivers polls earlier or later than they were meant. */
const toleranceSeconds = 1

const columns = 'device_hash, user_code_hash, client_id, scope, resource, address, created_at, expires_at'
const selected = camelCased(columns)

const insertDevice = `INSERT INTO device (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT DO NOTHING RETURNING true AS added`

const selectPending = `SELECT ${selected} FROM device
  WHERE user_code_hash = $1 AND decision IS NULL AND expires_at - $2 > 0`

const decide = `UPDATE device SET decision = $2 WHERE device_hash = $1 AND decision IS NULL AND expires_at - $3 > 0
  RETURNING true AS decided`

// Stored with the poll, because only stored columns can be returned. NULL without an earlier poll.
const poll = `UPDATE device SET polled_at = $3,
    polled_early = coalesce($3 - polled_at < $2::bigint - ${toleranceSeconds}, false)
  WHERE device_hash = $1
  RETURNING ${selected}, decision, polled_early AS "isEarly"`

/** Creates the pending devices in `database`. */
export function createDevices(database: SqlDatabase): DeviceStore {
  return {
    async addDevice({ deviceHash, userCodeHash, clientId, scope, resource, address, createdAt, expiresAt }) {
      const values = [deviceHash, userCodeHash, clientId, scope, resource, address, createdAt, expiresAt]
      return (await database.write(insertDevice, values)).length === 1
    },
    async findDevice(userCodeHash, now) {
      const [device] = await database.read<DeviceRow>(selectPending, [userCodeHash, now])
      return device && withoutNulls(device)
    },
    decideDevice: async (deviceHash, decision, now) =>
      (await database.write(decide, [deviceHash, decision, now])).length === 1,
    async pollDevice(deviceHash, intervalSeconds, now) {
      const [row] = await database.write<PolledRow>(poll, [deviceHash, intervalSeconds, now])
      return row ? pollOf(withoutNulls(row), now) : { kind: 'unknown' }
    },
  }
}

interface DeviceRow extends Omit<PendingDevice, 'address'> {
  address: string | null
}

interface PolledRow extends DeviceRow {
  decision: 'approved' | 'denied' | null
  isEarly: boolean | number
}

/**
 * Computes the result of a poll from the state after it (RFC 8628 section 3.5). Expiry comes first, then the decision: an early
 * poll still learns a decision.
 */
function pollOf(row: WithoutNulls<PolledRow>, now: number): DevicePoll {
  const { decision, isEarly, ...device } = row
  if (device.expiresAt <= now) return { kind: 'expired' }
  if (decision === 'approved') return { kind: 'approved', device }
  if (decision === 'denied') return { kind: 'denied' }
  return { kind: isEarly ? 'slow_down' : 'pending' }
}
