import type { GrantEndReason, RefusedSessionReason } from '../../core/session/grant.ts'
import type { PostgresDatabase, Statement } from './database.ts'

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
  reason: RefusedSessionReason,
  now: number,
): Promise<boolean> {
  return (await database.write(endRefused, [grantId, version, reason, now])).length === 1
}
