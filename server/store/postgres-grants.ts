import type { Grant, GrantEndReason } from '../core/grant.ts'
import type { PostgresDatabase, Statement } from './postgres-database.ts'

/** Columns of a grant, for `g`, that {@link grantOf} reads. */
export const grantColumns: string = `g.id, g.user_id, g.user_sub, g.user_email, g.user_name, g.client_id, g.resource,
  g.scope, g.created_at, g.expires_at`

/** A row with {@link grantColumns}. */
export interface GrantRow {
  id: string
  user_id: string
  user_sub: string
  user_email: string | null
  user_name: string | null
  client_id: string
  resource: string
  scope: string
  created_at: number
  expires_at: number
}

/** The grant in a row. */
export function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    user: {
      id: row.user_id,
      sub: row.user_sub,
      email: row.user_email ?? undefined,
      name: row.user_name ?? undefined,
    },
    clientId: row.client_id,
    resource: row.resource,
    scope: row.scope,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

// Whoever locks both, locks the grant before its session.
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

/** Ends the grant and makes its session due for sign-out; true for the call that ended it. */
export async function endPostgresGrant(
  database: PostgresDatabase,
  grantId: string,
  reason: GrantEndReason,
  now: number,
): Promise<boolean> {
  return (await database.write(endGrant, [grantId, reason, now])).length === 1
}

/** Ends the grant of a session that the provider refused, and forgets the session, while it is the stored one. */
export async function endRefusedPostgresSession(
  database: PostgresDatabase,
  { grantId, version }: { grantId: string; version: number },
  now: number,
): Promise<boolean> {
  const reason: GrantEndReason = 'provider_session_ended'
  return (await database.write(endRefused, [grantId, version, reason, now])).length === 1
}
