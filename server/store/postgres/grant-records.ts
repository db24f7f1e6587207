import type { GrantStore, GrantUse } from '../../core/session/grant.ts'
import { grantColumns, grantOf, grantRecordColumns, grantRecordOf, ownerOf } from '../row.ts'
import type { GrantRecordRow, GrantRow } from '../row.ts'
import { expirePostgresCodes } from './codes.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { encodeText } from './text.ts'

type GrantRecordStore = Pick<GrantStore, 'endGrants' | 'listGrants' | 'findGrant' | 'recordGrantUses'>

// As in the indexes, which only these very expressions use: pages are read from the index of whose they are, not by the key.
const whose = { user: 'g.user_id COLLATE "C"', client: 'g.client_id COLLATE "C"' }
const byId = `(g.id || '')`
// A client may have had very many, so that there is an index on those that live.
const live = { user: 'g.ended_at IS NULL', client: 'coalesce(g.ended_at, 0) = 0' }

// Locked in the order of their ids, like all multi-row locks, to avoid deadlocks.
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

// One parameter, however many uses there are.
const recordUses: Statement = {
  name: 'record_grant_uses',
  text: `WITH used AS MATERIALIZED (
      SELECT DISTINCT ON (u.id) u.id, u.used_at, u.address
      FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (id text, used_at bigint, address text))
        WITH ORDINALITY AS u (id, used_at, address, position)
      ORDER BY u.id, u.used_at DESC, u.position DESC
    ), known AS MATERIALIZED (
      SELECT id FROM grants WHERE id = ANY (ARRAY(SELECT id FROM used)) ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE grants g SET last_used_at = u.used_at, last_address = u.address
    FROM used u
    WHERE g.id = u.id COLLATE "C" AND g.id = ANY (ARRAY(SELECT id FROM known))
      AND coalesce(g.last_used_at, 0) <= u.used_at`,
}

/** Grants of the Postgres store as people look at them, end them and are told of their use. */
export function createPostgresGrantRecords(database: PostgresDatabase): GrantRecordStore {
  return {
    async endGrants(of, reason, { now, limit }) {
      // Codes first: one that is redeemed before that is a grant by the time the grants are ended.
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

// Texts as they are stored, before JSON writes NUL in a way that a jsonb does not take.
function usesAsJson(uses: readonly GrantUse[]): string {
  return JSON.stringify(
    uses.map(({ grantId, usedAt, address }) => ({
      id: encodeText(grantId),
      used_at: usedAt,
      address: address === undefined ? null : encodeText(address),
    })),
  )
}
