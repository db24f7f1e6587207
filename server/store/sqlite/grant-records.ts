import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Grant, GrantEndReason, GrantOwner, GrantStore } from '../../core/session/grant.ts'
import {
  grantColumns,
  grantOf,
  grantRecordColumns,
  grantRecordOf,
  ownerOf,
  type GrantRecordRow,
  type GrantRow,
} from '../row.ts'
import { mergeUses } from '../rules.ts'
import type { SqliteWork } from './work.ts'

/** Creates the grant records in `database`: listing, ending and use. */
export function createSqliteGrantRecords(
  database: DatabaseSync,
  { read, write }: SqliteWork,
  endGrant: (grantNumber: number, reason: GrantEndReason, now: number) => void,
  expireCodes: (of: GrantOwner, now: number, limit: number) => Grant[],
): Pick<GrantStore, 'endGrants' | 'listGrants' | 'findGrant' | 'recordGrantUses'> {
  // The plus keeps the expiry index out of it.
  const liveOf = (column: string): StatementSync =>
    database.prepare(
      `SELECT g.number, ${grantColumns} FROM grants g
       WHERE g.${column} = ? AND g.ended_at IS NULL AND +g.expires_at > ? ORDER BY g.id LIMIT ?`,
    )
  const pageOf = (condition: string): StatementSync =>
    database.prepare(
      `SELECT ${grantRecordColumns} FROM grants g WHERE ${condition} g.id > ? ORDER BY g.id LIMIT ?`,
    )
  const live = { user: liveOf('user_id'), client: liveOf('client_id') }
  const page = { all: pageOf(''), user: pageOf('g.user_id = ? AND'), client: pageOf('g.client_id = ? AND') }
  const select = database.prepare(`SELECT ${grantRecordColumns} FROM grants g WHERE g.id = ?`)
  const use = database.prepare(
    `UPDATE grants SET last_used_at = ?, last_address = ?, last_tool = coalesce(?, last_tool)
     WHERE id = ? AND coalesce(last_used_at, 0) <= ?`,
  )
  const useFromTwo = database.prepare(
    `UPDATE grants SET two_addresses_at = ?, two_addresses_first = ?, two_addresses_other = ?
     WHERE id = ? AND coalesce(two_addresses_at, 0) <= ?`,
  )

  return {
    endGrants: (of, reason, { now, limit }) =>
      write(() => {
        const waiting = expireCodes(of, now, limit)
        const { kind, id } = ownerOf(of)
        const rows = live[kind].all(id, now, limit - waiting.length) as unknown as NumberedRow[]
        for (const row of rows) endGrant(row.number, reason, now)
        return [...waiting, ...rows.map(grantOf)]
      }),
    listGrants: (of, { after, limit }) =>
      read(() => {
        const owner = of && ownerOf(of)
        const rows = owner ? page[owner.kind].all(owner.id, after, limit) : page.all.all(after, limit)
        return (rows as unknown as GrantRecordRow[]).map(grantRecordOf)
      }),
    findGrant: (grantId) =>
      read(() => {
        const row = select.get(grantId)
        return row && grantRecordOf(row as unknown as GrantRecordRow)
      }),
    recordGrantUses: (uses) =>
      write(() => {
        for (const { grantId, usedAt, address, tool, twoAddresses } of mergeUses(uses)) {
          use.run(usedAt, address ?? null, tool ?? null, grantId, usedAt)
          if (!twoAddresses) continue
          const { addresses, at } = twoAddresses
          useFromTwo.run(at, ...addresses, grantId, at)
        }
      }),
  }
}

interface NumberedRow extends GrantRow {
  number: number
}
