import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from './auth-error.ts'
import type { Database } from './database.ts'
import { decodeRefreshToken, encodeRefreshToken, isRefreshToken } from './refresh-token.ts'
import { createUuid } from './uuid.ts'

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

/** A presented refresh token whose MAC is right; it may still be a used one. */
export interface PresentedRefreshToken {
  session: Session
  counter: number
}

/** The sessions of all accounts and the rotation of their refresh tokens. */
export interface Sessions {
  create(accountId: string, method: AuthenticationMethod['method']): Session
  find(id: string): Session | undefined
  list(accountId: string): Session[]
  /** Throws `refresh_token_not_found` for anything that is not a token of a living session. */
  present(refreshToken: string): PresentedRefreshToken
  /**
   * Spends a refresh token. The active one makes a successor; its immediate parent, at any time, and any other within
   * the reuse interval since the last refresh return the active one unchanged; everything else ends the session
   * with `refresh_token_already_used`.
   */
  rotate(presented: PresentedRefreshToken): { session: Session; rotated: boolean }
  /** Raises the session to aal2. The refresh token of the first step, and all before it, become unusable. */
  raise(id: string): Session
  /** Back to aal1 for all sessions of the account: its second factor is gone. */
  lower(accountId: string): void
  end(id: string): void
  endAll(accountId: string): void
  endOthers(accountId: string, keptId: string): void
  /** Ends the account's aal1 sessions, as a proven second factor does. */
  endBelowAal2(accountId: string): void
  /** Seconds in which concurrent refreshes are forgiven; 10 at first. */
  setReuseInterval(seconds: number): void
}

interface SessionRow {
  id: string
  account_id: string
  aal: 'aal1' | 'aal2'
  amr: string
  refresh_key: Uint8Array
  refresh_counter: number
  refresh_floor: number
  refreshed_at: number
}

/** Sessions kept in the database. */
export function createSessions(database: Database, runtime: Runtime): Sessions {
  let reuseIntervalSeconds = 10

  const row = (id: string): SessionRow | undefined => database.get('SELECT * FROM session WHERE id = ?', id)

  function existing(id: string): SessionRow {
    const found = row(id)
    if (found === undefined) throw notFound()
    return found
  }

  const sessions: Sessions = {
    create(accountId, method) {
      const id = createUuid(runtime)
      const now = runtime.now()
      database.run(
        `INSERT INTO session
           (id, account_id, aal, amr, refresh_key, refresh_counter, refresh_floor, refreshed_at, created_at)
         VALUES (?, ?, 'aal1', ?, ?, 0, 0, ?, ?)`,
        id,
        accountId,
        JSON.stringify([{ method, timestamp: now }]),
        runtime.randomBytes(32),
        now,
        now,
      )
      return toSession(existing(id))
    },
    find(id) {
      const found = row(id)
      return found === undefined ? undefined : toSession(found)
    },
    list: (accountId) =>
      database
        .all<SessionRow>('SELECT * FROM session WHERE account_id = ? ORDER BY created_at, rowid', accountId)
        .map(toSession),
    present(refreshToken) {
      const claim = decodeRefreshToken(refreshToken)
      const found = claim === undefined ? undefined : row(claim.sessionId)
      if (claim === undefined || found === undefined || !isRefreshToken(refreshToken, found.refresh_key)) {
        throw notFound()
      }
      return { session: toSession(found), counter: claim.counter }
    },
    rotate({ session, counter }) {
      const outcome = database.transaction(() => {
        const current = existing(session.id)
        const behind = current.refresh_counter - counter
        if (behind === 0) {
          database.run('UPDATE session SET refresh_counter = refresh_counter + 1 WHERE id = ?', session.id)
        } else if (!isForgiven(current, counter)) {
          // Committed, not thrown: the session must stay destroyed.
          sessions.end(session.id)
          return undefined
        }
        database.run('UPDATE session SET refreshed_at = ? WHERE id = ?', runtime.now(), session.id)
        return { session: toSession(existing(session.id)), rotated: behind === 0 }
      })
      if (outcome === undefined) {
        throw new AuthError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
      }
      return outcome
    },
    raise: (id) =>
      database.transaction(() => {
        const current = existing(id)
        const amr = [{ method: 'totp', timestamp: runtime.now() }, ...toSession(current).amr]
        // The floor keeps the token of the first step from being forgiven as the parent of the new one.
        database.run(
          `UPDATE session SET aal = 'aal2', amr = ?, refresh_counter = refresh_counter + 1,
             refresh_floor = refresh_counter + 1 WHERE id = ?`,
          JSON.stringify(
            amr.filter((entry, index) => amr.findIndex((e) => e.method === entry.method) === index),
          ),
          id,
        )
        return toSession(existing(id))
      }),
    lower: (accountId) =>
      void database.run(`UPDATE session SET aal = 'aal1' WHERE account_id = ?`, accountId),
    end: (id) => void database.run('DELETE FROM session WHERE id = ?', id),
    endAll: (accountId) => void database.run('DELETE FROM session WHERE account_id = ?', accountId),
    endOthers: (accountId, keptId) =>
      void database.run('DELETE FROM session WHERE account_id = ? AND id <> ?', accountId, keptId),
    endBelowAal2: (accountId) =>
      void database.run(`DELETE FROM session WHERE account_id = ? AND aal = 'aal1'`, accountId),
    setReuseInterval(seconds) {
      reuseIntervalSeconds = seconds
    },
  }
  return sessions

  function isForgiven(current: SessionRow, counter: number): boolean {
    if (counter < current.refresh_floor || counter > current.refresh_counter) return false
    const lostReply = current.refresh_counter - counter === 1
    return lostReply || runtime.now() - current.refreshed_at < reuseIntervalSeconds
  }
}

function notFound(): AuthError {
  return new AuthError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
}

function toSession(row: SessionRow): Session {
  const amr: AuthenticationMethod[] = JSON.parse(row.amr)
  return {
    id: row.id,
    accountId: row.account_id,
    aal: row.aal,
    amr,
    refreshToken: encodeRefreshToken({ sessionId: row.id, counter: row.refresh_counter }, row.refresh_key),
    refreshCounter: row.refresh_counter,
  }
}
