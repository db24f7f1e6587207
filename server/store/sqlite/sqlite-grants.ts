import type { GrantStore } from '../../core/session/grant.ts'
import { grantColumns, grantOf, type GrantRow, liveGrantsOf, ownerOf } from '../sql/grants.ts'
import { mergeUses } from '../rules.ts'
import { expireCodesOf } from './sqlite-codes.ts'
import { endGrant, markEnded } from './ending.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

const deleteRefused = `DELETE FROM provider_session
  WHERE grant_id = $1 AND version = $2 AND taken_up AND sign_out_due_at IS NULL RETURNING true AS gone`

const selectLive = { user: liveGrantsOf('user', grantColumns), client: liveGrantsOf('client', grantColumns) }

const recordUse = `UPDATE grants SET last_used_at = $2, last_address = $3, last_tool = coalesce($4, last_tool)
  WHERE id = $1 AND coalesce(last_used_at, 0) <= $2`

const recordTwoAddresses = `UPDATE grants SET two_addresses_at = $2, two_addresses_first = $3, two_addresses_other = $4
  WHERE id = $1 AND coalesce(two_addresses_at, 0) <= $2`

/** Creates the grants of the SQLite store: ending and use. */
export function createSqliteGrants(
  database: SqliteDatabase,
): Pick<GrantStore, 'endGrant' | 'endGrants' | 'endRefusedSession' | 'recordGrantUses'> {
  return {
    endGrant: (grantId, reason, now) => database.transaction(() => endGrant(database, grantId, reason, now)),
    endRefusedSession: ({ grantId, version }, reason, now) =>
      database.transaction(() => {
        if (!database.all<unknown>(deleteRefused, [grantId, version])[0]) return false
        database.run(markEnded, [grantId, now, reason])
        return true
      }),
    endGrants: (of, reason, { now, limit }) =>
      database.transaction(() => {
        const waiting = expireCodesOf(database, of, { now, limit })
        const { kind, id } = ownerOf(of)
        const rows = database.all<GrantRow>(selectLive[kind], [id, now, limit - waiting.length])
        for (const row of rows) endGrant(database, row.id, reason, now)
        return [...waiting, ...rows.map(grantOf)]
      }),
    recordGrantUses: (uses) =>
      database.transaction(() => {
        for (const { grantId, usedAt, address, tool, twoAddresses } of mergeUses(uses)) {
          database.run(recordUse, [grantId, usedAt, address, tool])
          if (twoAddresses) {
            database.run(recordTwoAddresses, [grantId, twoAddresses.at, ...twoAddresses.addresses])
          }
        }
      }),
  }
}
