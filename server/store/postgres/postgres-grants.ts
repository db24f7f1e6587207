import type { GrantEndReason, GrantStore, GrantUse } from '../../core/session/grant.ts'
import { mergeUses } from '../rules.ts'
import { grantColumns, grantOf, type GrantRow, liveGrantsOf, ownerOf } from '../sql/grants.ts'
import { releaseSessions } from '../sql/provider-sessions.ts'
import type { SqlDatabase } from '../sql/sql.ts'
import { expirePostgresCodes } from './postgres-codes.ts'
import { encodeText } from '../sql/storable-text.ts'

// To avoid deadlocks, lock the grant before its session.
const endGrant = `WITH ended AS (
      UPDATE grants SET ended_at = $3, end_reason = $2 WHERE id = $1 AND ended_at IS NULL RETURNING id
    ), due AS (
      ${releaseSessions('= (SELECT id FROM ended)', '$3')}
    )
    SELECT id FROM ended`

const endRefused = `WITH live AS MATERIALIZED (
      SELECT id FROM grants WHERE id = $1 AND ended_at IS NULL FOR UPDATE
    ), refused AS (
      DELETE FROM provider_session WHERE grant_id = (SELECT id FROM live) AND version = $2 RETURNING grant_id
    )
    UPDATE grants SET ended_at = $4, end_reason = $3 WHERE id = (SELECT grant_id FROM refused) RETURNING id`

// Locked in id order, like all multi-row locks, to avoid deadlocks.
const endGrantsOf = (kind: 'user' | 'client'): string => `WITH live AS MATERIALIZED (
    ${liveGrantsOf(kind, 'g.id')} FOR UPDATE
  ), ended AS (
    UPDATE grants g SET ended_at = $2, end_reason = $4 WHERE g.id = ANY (ARRAY(SELECT id FROM live))
    RETURNING ${grantColumns}
  ), due AS (
    ${releaseSessions('= ANY (ARRAY(SELECT id FROM ended))', '$2')}
  )
  SELECT * FROM ended ORDER BY id`
const endGrants = { user: endGrantsOf('user'), client: endGrantsOf('client') }

const isLaterUse = 'coalesce(g.last_used_at, 0) <= u.used_at'
const isLaterPair = 'coalesce(g.two_addresses_at, 0) <= u.two_at'

// One parameter for any number of uses.
const recordUses = `WITH used AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset($1::jsonb) AS u (id text, used_at bigint, address text, tool text,
        two_at bigint, two_first text, two_other text)
    ), known AS MATERIALIZED (
      SELECT id FROM grants WHERE id = ANY (ARRAY(SELECT id FROM used)) ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE grants g SET last_used_at = greatest(g.last_used_at, u.used_at),
      last_address = CASE WHEN ${isLaterUse} THEN u.address ELSE g.last_address END,
      last_tool = CASE WHEN ${isLaterUse} THEN coalesce(u.tool, g.last_tool) ELSE g.last_tool END,
      two_addresses_at = greatest(g.two_addresses_at, u.two_at),
      two_addresses_first = CASE WHEN ${isLaterPair} THEN u.two_first ELSE g.two_addresses_first END,
      two_addresses_other = CASE WHEN ${isLaterPair} THEN u.two_other ELSE g.two_addresses_other END
    FROM used u
    WHERE g.id = u.id COLLATE "C" AND g.id = ANY (ARRAY(SELECT id FROM known))
      AND (${isLaterUse} OR ${isLaterPair})`

/** Creates the grants of the Postgres store: ending and use. */
export function createPostgresGrants(
  database: SqlDatabase,
): Pick<GrantStore, 'endGrant' | 'endGrants' | 'endRefusedSession' | 'recordGrantUses'> {
  return {
    endGrant: async (grantId, reason, now) => void (await endPostgresGrant(database, grantId, reason, now)),
    endRefusedSession: async ({ grantId, version }, reason, now) =>
      (await database.write(endRefused, [grantId, version, reason, now])).length === 1,
    async endGrants(of, reason, { now, limit }) {
      // Codes first: one redeemed before that is a grant by the time the grants are ended.
      const waiting = await expirePostgresCodes(database, of, { now, limit })
      const { kind, id } = ownerOf(of)
      const rows = await database.write<GrantRow>(endGrants[kind], [id, now, limit - waiting.length, reason])
      return [...waiting, ...rows.map(grantOf)]
    },
    async recordGrantUses(uses) {
      if (uses.length > 0) await database.write(recordUses, [usesAsJson(uses)])
    },
  }
}

/** Ends the grant and makes its session due for sign-out; returns true for the call that ended it. */
export async function endPostgresGrant(
  database: SqlDatabase,
  grantId: string,
  reason: GrantEndReason,
  now: number,
): Promise<boolean> {
  return (await database.write(endGrant, [grantId, reason, now])).length === 1
}

// Encodes texts before JSON writes NUL in a form that jsonb rejects.
function usesAsJson(uses: readonly GrantUse[]): string {
  return JSON.stringify(
    mergeUses(uses).map(({ grantId, usedAt, address, tool, twoAddresses }) => ({
      id: encodeText(grantId),
      used_at: usedAt,
      address: address && encodeText(address),
      tool: tool && encodeText(tool),
      two_at: twoAddresses?.at,
      two_first: twoAddresses && encodeText(twoAddresses.addresses[0]),
      two_other: twoAddresses && encodeText(twoAddresses.addresses[1]),
    })),
  )
}
