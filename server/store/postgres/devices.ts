import type { DevicePoll, DeviceStore } from '../../core/authorization/device-authorization-store.ts'
import { slowDownSeconds } from '../rules.ts'
import { deviceColumns, deviceOf, type DeviceRow, deviceValues } from '../row.ts'
import type { PostgresDatabase, Statement } from './database.ts'

const insertDevice: Statement = {
  name: 'insert_device',
  text: `INSERT INTO device (${deviceColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT DO NOTHING RETURNING true AS added`,
}

const selectPending: Statement = {
  name: 'select_pending_device',
  text: `SELECT ${deviceColumns} FROM device
    WHERE user_code_hash = $1 AND decision IS NULL AND expires_at - $2 > 0`,
}

const decide: Statement = {
  name: 'decide_device',
  text: `UPDATE device SET decision = $2 WHERE device_hash = $1 AND decision IS NULL AND expires_at - $3 > 0
    RETURNING true AS decided`,
}

// Stored with the poll, because only stored columns can be returned. NULL without an earlier poll.
const early = 'coalesce($3 - polled_at < $2::bigint + slowed_seconds, false)'

const poll: Statement = {
  name: 'poll_device',
  text: `UPDATE device SET polled_at = $3, polled_early = ${early},
      slowed_seconds = slowed_seconds + CASE
        WHEN ${early} AND decision IS NULL AND expires_at - $3 > 0 THEN ${slowDownSeconds} ELSE 0 END
    WHERE device_hash = $1
    RETURNING ${deviceColumns}, decision, polled_early, slowed_seconds`,
}

/** Creates the pending devices of the Postgres store. */
export function createPostgresDevices(database: PostgresDatabase): DeviceStore {
  return {
    addDevice: async (device) => (await database.write(insertDevice, deviceValues(device))).length === 1,
    async findDevice(userCodeHash, now) {
      const [row] = await database.read<DeviceRow>(selectPending, [userCodeHash, now])
      return row && deviceOf(row)
    },
    decideDevice: async (deviceHash, decision, now) =>
      (await database.write(decide, [deviceHash, decision, now])).length === 1,
    async pollDevice(deviceHash, intervalSeconds, now) {
      const [row] = await database.write<PolledRow>(poll, [deviceHash, intervalSeconds, now])
      return row ? pollOf(row, intervalSeconds, now) : { kind: 'unknown' }
    },
  }
}

interface PolledRow extends DeviceRow {
  decision: 'approved' | 'denied' | null
  polled_early: boolean
  slowed_seconds: number
}

/** Computes the result of a poll from the state after it. Same rule as `pollResult`, which uses the state before it. */
function pollOf(row: PolledRow, intervalSeconds: number, now: number): DevicePoll {
  if (row.expires_at <= now) return { kind: 'expired' }
  if (row.decision === 'approved') return { kind: 'approved', device: deviceOf(row) }
  if (row.decision === 'denied') return { kind: 'denied' }
  if (!row.polled_early) return { kind: 'pending' }
  return { kind: 'slow_down', intervalSeconds: intervalSeconds + row.slowed_seconds }
}
