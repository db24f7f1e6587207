import type { GrantEndReason } from '../../core/session/grant.ts'
import { releaseSessions } from '../sql/provider-sessions.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

/** Makes the session of the grant $1 due for sign-out at $2. */
export const releaseSession: string = releaseSessions('= $1', '$2')

/** Marks the grant $1 as ended at $2 for the reason $3, unless it has ended. */
export const markEnded = `UPDATE grants SET ended_at = $2, end_reason = $3 WHERE id = $1 AND ended_at IS NULL
  RETURNING true AS ended`

/** Ends the grant if it has not ended, and releases its provider session. Runs inside a write. */
export function endGrant(
  database: SqliteDatabase,
  grantId: string,
  reason: GrantEndReason,
  now: number,
): void {
  if (database.all<unknown>(markEnded, [grantId, now, reason])[0])
    database.run(releaseSession, [grantId, now])
}
