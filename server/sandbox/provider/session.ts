import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from './auth-error.ts'
import type { Database } from './database.ts'
import type { SessionLimits } from './session-limit.ts'
import { existingRow, NEXT_ACTIVITY, refreshTokenNotFound, rotate } from './session-rotation.ts'
import type { RefreshTokenVersion, SessionRow } from './session-row.ts'
import { createUuid } from './uuid.ts'
import { findToken, refreshTokenOf, rememberToken } from './session-token.ts'

/** One sign-in method and when it was used, as in the `amr` claim. */
export interface AuthenticationMethod {
  method: 'password' | 'oauth' | 'totp'
  timestamp: number
}

/** A signed-in session. */
export interface Session {
  id: string
  accountId: string
  aal: 'aal1' | 'aal2'
  /** Newest first. */
  amr: AuthenticationMethod[]
  /** The one active refresh token. */
  refreshToken: string
  refreshCounter: number
}

/** A presented refresh token that is genuine; it may still be a used one. */
export interface PresentedRefreshToken {
  session: Session
  counter: number
}

/** The sessions of all accounts and the rotation of their refresh tokens. */
export interface Sessions {
  create(accountId: string, method: AuthenticationMethod['method']): Session
  find(id: string): Session | undefined
  list(accountId: string): Session[]
  /**
   * Throws `refresh_token_not_found` for a token that is not of a living session, and `validation_failed` for one that
   * was not issued here in this form.
   */
  present(refreshToken: string): PresentedRefreshToken
  /**
   * Spends a refresh token. One that is forgiven brings the active one unchanged; one that is not ends the family with
   * `refresh_token_already_used`.
   */
  rotate(presented: PresentedRefreshToken): { session: Session; rotated: boolean }
  /** Raises the session to aal2, with a new refresh token. */
  raise(id: string): Session
  /** Back to aal1 for all sessions of the account: its second factor is gone. */
  lower(accountId: string): void
  end(id: string): void
  endAll(accountId: string): void
  endOthers(accountId: string, keptId: string): void
  /** Ends the account's aal1 sessions, as a proven second factor does. */
  endBelowAal2(accountId: string): void
  /** Forgets the last refresh, as a database that was restored from an older copy does. */
  rewind(id: string): void
  /** Seconds in which concurrent refreshes are forgiven; 10 at first. */
  setReuseInterval(seconds: number): void
  /** Replaces the limits; none at first. */
  setLimits(limits: SessionLimits): void
}

/** How the sessions behave. */
export interface SessionOptions {
  /** Default 2. Of new sessions: old ones keep theirs. */
  refreshTokenVersion?: RefreshTokenVersion | undefined
  /** Hears of a family that ended because one of its tokens was used again. */
  reportReuse?: () => void
}

/** Sessions kept in the database. */
export function createSessions(
  database: Database,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
  options: SessionOptions = {},
): Sessions {
  const rules = { reuseIntervalSeconds: 10, limits: {} as SessionLimits }

  return {
    create(accountId, method) {
      const id = createUuid(runtime)
      const now = runtime.now()
      return database.transaction(() => {
        database.run(
          `INSERT INTO session (id, account_id, aal, amr, refresh_key, refresh_version,
             refresh_counter, refresh_floor, refreshed_at, created_at, activity)
           VALUES (?, ?, 'aal1', ?, ?, ?, 0, 0, ?, ?, ${NEXT_ACTIVITY})`,
          id,
          accountId,
          JSON.stringify([{ method, timestamp: now }]),
          runtime.randomBytes(32),
          options.refreshTokenVersion ?? 2,
          now,
          now,
        )
        const row = existingRow(database, id)
        rememberToken(database, row)
        return toSession(row)
      })
    },
    find(id) {
      const row = database.get<SessionRow>('SELECT * FROM session WHERE id = ?', id)
      return row && toSession(row)
    },
    list: (accountId) =>
      database
        .all<SessionRow>('SELECT * FROM session WHERE account_id = ? ORDER BY created_at, rowid', accountId)
        .map(toSession),
    present(refreshToken) {
      const found = findToken(database, refreshToken)
      if (found === 'unknown') throw refreshTokenNotFound()
      if (found === 'malformed') {
        throw new AuthError(400, 'validation_failed', 'Refresh token is not valid')
      }
      return { session: toSession(found.row), counter: found.counter }
    },
    rotate({ session: { id }, counter }) {
      const rotation = rotate({ id, counter }, rules, { database, runtime })
      if (rotation === 'revoked') options.reportReuse?.()
      if (rotation === 'revoked' || rotation === 'revoked_before') {
        throw new AuthError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
      }
      return { session: toSession(existingRow(database, id)), rotated: rotation === 'rotated' }
    },
    raise: (id) => database.transaction(() => raise(database, existingRow(database, id), runtime.now())),
    lower: (accountId) =>
      void database.run(`UPDATE session SET aal = 'aal1' WHERE account_id = ?`, accountId),
    end: (id) => void database.run('DELETE FROM session WHERE id = ?', id),
    endAll: (accountId) => void database.run('DELETE FROM session WHERE account_id = ?', accountId),
    endOthers: (accountId, keptId) =>
      void database.run('DELETE FROM session WHERE account_id = ? AND id <> ?', accountId, keptId),
    endBelowAal2: (accountId) =>
      void database.run(`DELETE FROM session WHERE account_id = ? AND aal = 'aal1'`, accountId),
    rewind: (id) =>
      void database.run('UPDATE session SET refresh_counter = max(refresh_counter - 1, 0) WHERE id = ?', id),
    setReuseInterval(seconds) {
      rules.reuseIntervalSeconds = seconds
    },
    setLimits(limits) {
      rules.limits = limits
    },
  }
}

function raise(database: Database, row: SessionRow, now: number): Session {
  const amr = [{ method: 'totp', timestamp: now }, ...toSession(row).amr]
  const latest = amr.filter((entry, index) => amr.findIndex((e) => e.method === entry.method) === index)
  const counter = row.refresh_counter + 1
  database.run(
    `UPDATE session SET aal = 'aal2', amr = ?, refresh_counter = ?, refresh_floor = ? WHERE id = ?`,
    JSON.stringify(latest),
    counter,
    // The floor keeps the token of the first step from being forgiven as the parent of the new one. Opaque ones are.
    row.refresh_version === 2 ? counter : row.refresh_floor,
    row.id,
  )
  const raised = existingRow(database, row.id)
  rememberToken(database, raised)
  return toSession(raised)
}

function toSession(row: SessionRow): Session {
  const amr: AuthenticationMethod[] = JSON.parse(row.amr)
  return {
    id: row.id,
    accountId: row.account_id,
    aal: row.aal,
    amr,
    refreshToken: refreshTokenOf(row),
    refreshCounter: row.refresh_counter,
  }
}
