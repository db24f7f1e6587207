import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from './auth-error.ts'
import type { Database } from './database.ts'
import { brokenLimit, type SessionLimits } from './session-limit.ts'
import type { SessionRow } from './session-row.ts'
import { rememberToken } from './session-token.ts'

/** The next `activity`, for use in a statement. */
export const NEXT_ACTIVITY = '(SELECT COALESCE(MAX(activity), 0) + 1 FROM session)'

/** The rules of a rotation. */
export interface RotationRules {
  /** Seconds in which concurrent refreshes are forgiven. */
  reuseIntervalSeconds: number
  limits: SessionLimits
}

/** How presenting a refresh token ended: a successor, the active one once more, or the end of the family. */
export type Rotation = 'rotated' | 'replayed' | 'revoked' | 'revoked_before'

/**
 * Spends the token of turn `counter`. The active one gets a successor; its immediate parent, at any time, and any other
 * within the reuse interval since the last refresh are forgiven; everything else ends the family: tokens that say their
 * session take it with them, opaque ones leave it standing until its access token expires, as in the real API. Throws
 * `session_expired` for a session that has outlived a limit.
 */
export function rotate(
  { id, counter }: { id: string; counter: number },
  rules: RotationRules,
  { database, runtime }: { database: Database; runtime: Pick<Runtime, 'now'> },
): Rotation {
  const now = runtime.now()

  function checkLimits(row: SessionRow): void {
    const others = rules.limits.singlePerUser
      ? database.all<SessionRow>('SELECT * FROM session WHERE account_id = ? AND id <> ?', row.account_id, id)
      : []
    const broken = brokenLimit(row, others, rules.limits, now)
    if (broken !== undefined) throw new AuthError(400, 'session_expired', `Invalid Refresh Token: ${broken}`)
  }

  function isForgiven(row: SessionRow): boolean {
    if (counter < row.refresh_floor || counter > row.refresh_counter) return false
    const lostReply = row.refresh_counter - counter === 1
    return lostReply || now - row.refreshed_at < rules.reuseIntervalSeconds
  }

  function revoke(row: SessionRow): Rotation {
    if (row.refresh_version === 2) database.run('DELETE FROM session WHERE id = ?', id)
    else database.run('UPDATE session SET refresh_floor = refresh_counter + 1 WHERE id = ?', id)
    return row.refresh_floor > row.refresh_counter ? 'revoked_before' : 'revoked'
  }

  return database.transaction(() => {
    const row = existingRow(database, id)
    checkLimits(row)
    const isActive = counter === row.refresh_counter && counter >= row.refresh_floor
    // Committed, not thrown: the family must stay revoked.
    if (!isActive && !isForgiven(row)) return revoke(row)
    if (isActive) {
      database.run('UPDATE session SET refresh_counter = refresh_counter + 1 WHERE id = ?', id)
      rememberToken(database, existingRow(database, id))
    }
    database.run(`UPDATE session SET refreshed_at = ?, activity = ${NEXT_ACTIVITY} WHERE id = ?`, now, id)
    return isActive ? 'rotated' : 'replayed'
  })
}

/** The row of a session, or `refresh_token_not_found`. */
export function existingRow(database: Database, id: string): SessionRow {
  const row = database.get<SessionRow>('SELECT * FROM session WHERE id = ?', id)
  if (row === undefined) throw refreshTokenNotFound()
  return row
}

/** The answer to what is no token of a living session. */
export function refreshTokenNotFound(): AuthError {
  return new AuthError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
}
