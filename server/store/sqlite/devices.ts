import type { DatabaseSync } from 'node:sqlite'
import type { DeviceStore } from '../../core/authorization/device-authorization-store.ts'
import { deviceColumns, deviceOf, type DeviceRow, deviceValues } from '../row.ts'
import { deviceRetentionSeconds, type DeviceState, pollResult } from '../rules.ts'
import { deleteExpired, type SqlitePart } from './part.ts'
import type { SqliteWork } from './work.ts'

/** Creates the pending devices in `database`. */
export function createSqliteDevices(
  database: DatabaseSync,
  { read, write }: SqliteWork,
): SqlitePart<DeviceStore> {
  const insert = database.prepare(
    `INSERT INTO device (${deviceColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const selectPending = database.prepare(
    `SELECT ${deviceColumns} FROM device WHERE user_code_hash = ? AND decision IS NULL AND expires_at > ?`,
  )
  const decide = database.prepare(
    'UPDATE device SET decision = ? WHERE device_hash = ? AND decision IS NULL AND expires_at > ?',
  )
  const select = database.prepare(
    `SELECT ${deviceColumns}, decision, polled_at, slowed_seconds FROM device WHERE device_hash = ?`,
  )
  const poll = database.prepare('UPDATE device SET polled_at = ?, slowed_seconds = ? WHERE device_hash = ?')

  return {
    operations: {
      addDevice: (device) => write(() => insert.run(...deviceValues(device)).changes === 1),
      findDevice: (userCodeHash, now) =>
        read(() => {
          const row = selectPending.get(userCodeHash, now)
          return row && deviceOf(row as unknown as DeviceRow)
        }),
      decideDevice: (deviceHash, decision, now) =>
        write(() => decide.run(decision, deviceHash, now).changes === 1),
      pollDevice: (deviceHash, intervalSeconds, now) =>
        write(() => {
          const row = select.get(deviceHash) as unknown as PolledRow | undefined
          if (!row) return { kind: 'unknown' }
          const state: DeviceState = {
            decision: row.decision ?? undefined,
            polledAt: row.polled_at ?? undefined,
            slowedSeconds: row.slowed_seconds,
          }
          const result = pollResult(deviceOf(row), state, intervalSeconds, now)
          const slowed =
            result.kind === 'slow_down' ? result.intervalSeconds - intervalSeconds : row.slowed_seconds
          poll.run(now, slowed, deviceHash)
          return result
        }),
    },
    collect: deleteExpired(database, {
      table: 'device',
      key: 'device_hash',
      end: 'expires_at',
      retention: deviceRetentionSeconds,
    }),
  }
}

interface PolledRow extends DeviceRow {
  decision: 'approved' | 'denied' | null
  polled_at: number | null
  slowed_seconds: number
}
