import type { GrantEndReason, GrantStore, GrantUse } from '../../core/session/grant.ts'
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
import { expirePostgresCodes } from './codes.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { encodeText } from './text.ts'

type PostgresGrantStore = Pick<
  GrantStore,
  'endGrant' | 'endGrants' | 'endRefusedSession' | 'listGrants' | 'findGrant' | 'recordGrantUses'
>

// Matches the indexes, which only this exact expression uses: pages are read from the index of the owner, not by the key.
const whose = { user: 'g.user_id COLLATE "C"', client: 'g.client_id COLLATE "C"' }
const byId = `(g.id || '')`
// A client may have had very many grants, so there is an index on the live ones.
const live = { user: 'g.ended_at IS NULL', client: 'coalesce(g.ended_at, 0) = 0' }

// To avoid deadlocks, lock the grant before its session.
const endGrant: Statement = {
  name: 'end_grant',
  text: `WITH ended AS (
      UPDATE grants SET ended_at = $3, end_reason = $2 WHERE id = $1 AND ended_at IS NULL RETURNING id
    ), due AS (
      UPDATE provider_session SET sign_out_due_at = $3, sign_out_since = $3 WHERE grant_id = (SELECT id FROM ended)
    )
    SELECT id FROM ended`,
}

const endRefused: Statement = {
  name: 'end_refused_session',
  text: `WITH live AS MATERIALIZED (
      SELECT id FROM grants WHERE id = $1 AND ended_at IS NULL FOR UPDATE
    ), refused AS (
      DELETE FROM provider_session WHERE grant_id = (SELECT id FROM live) AND version = $2 RETURNING grant_id
    )
    UPDATE grants SET ended_at = $4, end_reason = $3 WHERE id = (SELECT grant_id FROM refused) RETURNING id`,
}

// Locked in id order, like all multi-row locks, to avoid deadlocks.
const endGrantsOf = (kind: keyof typeof whose): Statement => ({
  name: `end_grants_of_${kind}`,
  text: `WITH live AS MATERIALIZED (
      SELECT g.id FROM grants g WHERE ${whose[kind]} = $1 AND ${live[kind]} AND g.expires_at - $3 > 0
      ORDER BY ${byId} LIMIT $4 FOR UPDATE
    ), ended AS (
      UPDATE grants g SET ended_at = $3, end_reason = $2 WHERE g.id = ANY (ARRAY(SELECT id FROM live))
      RETURNING ${grantColumns}
    ), due AS (
      UPDATE provider_session SET sign_out_due_at = $3, sign_out_since = $3
      WHERE grant_id = ANY (ARRAY(SELECT id FROM ended))
    )
    SELECT ${grantColumns} FROM ended g ORDER BY g.id`,
})
const endGrants = { user: endGrantsOf('user'), client: endGrantsOf('client') }

const listAll: Statement = {
  name: 'list_grants',
  text: `SELECT ${grantRecordColumns} FROM grants g WHERE g.id > $1 ORDER BY g.id LIMIT $2`,
}
const listGrantsOf = (kind: keyof typeof whose): Statement => ({
  name: `list_grants_of_${kind}`,
  text: `SELECT ${grantRecordColumns} FROM grants g
    WHERE ${whose[kind]} = $1 AND ${byId} > $2 ORDER BY ${byId} LIMIT $3`,
})
const listGrants = { user: listGrantsOf('user'), client: listGrantsOf('client') }

const selectGrant: Statement = {
  name: 'select_grant',
  text: `SELECT ${grantRecordColumns} FROM grants g WHERE g.id = $1`,
}

const isLaterUse = 'coalesce(g.last_used_at, 0) <= u.used_at'
const isLaterPair = 'coalesce(g.two_addresses_at, 0) <= u.two_at'

// One parameter for any number of uses.
const recordUses: Statement = {
  name: 'record_grant_uses',
  text: `WITH used AS MATERIALIZED (
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
      AND (${isLaterUse} OR ${isLaterPair})`,
}

/** Creates the grants of the Postgres store: listing, ending and use. */
export function createPostgresGrants(database: PostgresDatabase): PostgresGrantStore {
  return {
    endGrant: async (grantId, reason, now) => void (await endPostgresGrant(database, grantId, reason, now)),
    endRefusedSession: async ({ grantId, version }, reason, now) =>
      (await database.write(endRefused, [grantId, version, reason, now])).length === 1,
    async endGrants(of, reason, { now, limit }) {
      // Codes first: one redeemed before that is a grant by the time the grants are ended.
      const waiting = await expirePostgresCodes(database, of, { now, limit })
      const left = limit - waiting.length
      const { kind, id } = ownerOf(of)
      const rows = await database.write<GrantRow>(endGrants[kind], [id, reason, now, left])
      return [...waiting, ...rows.map(grantOf)]
    },
    async listGrants(of, { after, limit }) {
      const owner = of && ownerOf(of)
      const rows = owner
        ? await database.read<GrantRecordRow>(listGrants[owner.kind], [owner.id, after, limit])
        : await database.read<GrantRecordRow>(listAll, [after, limit])
      return rows.map(grantRecordOf)
    },
    async findGrant(grantId) {
      const [row] = await database.read<GrantRecordRow>(selectGrant, [grantId])
      return row && grantRecordOf(row)
    },
    async recordGrantUses(uses) {
      if (uses.length > 0) await database.write(recordUses, [usesAsJson(uses)])
    },
  }
}

/** Ends the grant and makes its session due for sign-out; returns true for the call that ended it. */
export async function endPostgresGrant(
  database: PostgresDatabase,
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
