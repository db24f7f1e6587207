import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../database.ts'
import {
  findToken,
  refreshTokenOf,
  type RefreshTokenVersion,
  rememberToken,
  type SessionRow,
} from './refresh-token.ts'

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
export class Sessions {
  /** Seconds within which concurrent refreshes are forgiven. */
  reuseIntervalSeconds = 10
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now' | 'randomBytes'>
  readonly #version: RefreshTokenVersion

  /** `version` is that of new sessions: those in the database keep theirs. */
  constructor(
    database: Database,
    runtime: Pick<Runtime, 'now' | 'randomBytes'>,
    version: RefreshTokenVersion = 2,
  ) {
    this.#database = database
    this.#runtime = runtime
    this.#version = version
  }

  create(accountId: string, method: AuthenticationMethod['method']): Session {
    const id = randomUUID()
    const now = this.#runtime.now()
    return this.#database.transaction(() => {
      this.#database.run(
        `INSERT INTO session (id, account_id, aal, amr, refresh_key, refresh_version,
           refresh_counter, refresh_floor, refreshed_at, created_at)
         VALUES (?, ?, 'aal1', ?, ?, ?, 0, 0, ?, ?)`,
        id,
        accountId,
        JSON.stringify([{ method, timestamp: now }]),
        this.#runtime.randomBytes(32),
        this.#version,
        now,
        now,
      )
      const row = this.#row(id)
      rememberToken(this.#database, row)
      return toSession(row)
    })
  }

  find(id: string): Session | undefined {
    const row = this.#database.get<SessionRow>('SELECT * FROM session WHERE id = ?', id)
    return row && toSession(row)
  }

  /**
   * Throws `refresh_token_not_found` for a token whose session is over, and `validation_failed` for one that was never
   * issued here.
   */
  present(refreshToken: string): PresentedRefreshToken {
    const found = findToken(this.#database, refreshToken)
    if (found === 'unknown') throw refreshTokenNotFound()
    if (found === 'malformed') throw new AuthError(400, 'validation_failed', 'Refresh token is not valid')
    return { session: toSession(found.row), counter: found.counter }
  }

  /**
   * Spends a refresh token. The active one gets a successor. Its immediate parent, at any time, and any other within the
   * reuse interval since the last refresh are forgiven: they bring the active one unchanged. Everything else ends the
   * family with `refresh_token_already_used`: tokens that name their session take it with them, opaque ones leave it
   * standing until its access token expires, as in the real API.
   */
  rotate({ session: { id }, counter }: PresentedRefreshToken): { session: Session; rotated: boolean } {
    const database = this.#database
    const now = this.#runtime.now()
    const outcome = database.transaction(() => {
      const row = this.#row(id)
      const isActive = counter === row.refresh_counter && counter >= row.refresh_floor
      if (!isActive && !this.#isForgiven(row, counter, now)) {
        // Committed, not thrown: the family must stay revoked.
        if (row.refresh_version === 2) this.end(id)
        else database.run('UPDATE session SET refresh_floor = refresh_counter + 1 WHERE id = ?', id)
        return undefined
      }
      if (isActive) {
        database.run('UPDATE session SET refresh_counter = refresh_counter + 1 WHERE id = ?', id)
        rememberToken(database, this.#row(id))
      }
      database.run('UPDATE session SET refreshed_at = ? WHERE id = ?', now, id)
      return { session: toSession(this.#row(id)), rotated: isActive }
    })
    if (outcome) return outcome
    throw new AuthError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
  }

  /** Raises the session to aal2, with a new refresh token. */
  raise(id: string): Session {
    return this.#database.transaction(() => {
      const row = this.#row(id)
      const amr = [{ method: 'totp', timestamp: this.#runtime.now() }, ...toSession(row).amr]
      const latest = amr.filter((entry, index) => amr.findIndex((e) => e.method === entry.method) === index)
      const counter = row.refresh_counter + 1
      this.#database.run(
        `UPDATE session SET aal = 'aal2', amr = ?, refresh_counter = ?, refresh_floor = ? WHERE id = ?`,
        JSON.stringify(latest),
        counter,
        // Keeps the token of the first step from being forgiven as the parent of the new one. Opaque ones are.
        row.refresh_version === 2 ? counter : row.refresh_floor,
        id,
      )
      const raised = this.#row(id)
      rememberToken(this.#database, raised)
      return toSession(raised)
    })
  }

  /** Back to aal1 for all sessions of the account: its second factor is gone. */
  lower(accountId: string): void {
    this.#database.run(`UPDATE session SET aal = 'aal1' WHERE account_id = ?`, accountId)
  }

  end(id: string): void {
    this.#database.run('DELETE FROM session WHERE id = ?', id)
  }

  endAll(accountId: string): void {
    this.#database.run('DELETE FROM session WHERE account_id = ?', accountId)
  }

  endOthers(accountId: string, keptId: string): void {
    this.#database.run('DELETE FROM session WHERE account_id = ? AND id <> ?', accountId, keptId)
  }

  /** Ends the account's aal1 sessions, as a proven second factor does. */
  endBelowAal2(accountId: string): void {
    this.#database.run(`DELETE FROM session WHERE account_id = ? AND aal = 'aal1'`, accountId)
  }

  #isForgiven(row: SessionRow, counter: number, now: number): boolean {
    if (counter < row.refresh_floor || counter > row.refresh_counter) return false
    const lostReply = row.refresh_counter - counter === 1
    return lostReply || now - row.refreshed_at < this.reuseIntervalSeconds
  }

  #row(id: string): SessionRow {
    const row = this.#database.get<SessionRow>('SELECT * FROM session WHERE id = ?', id)
    if (row === undefined) throw refreshTokenNotFound()
    return row
  }
}

function refreshTokenNotFound(): AuthError {
  return new AuthError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
}

function toSession(row: SessionRow): Session {
  return {
    id: row.id,
    accountId: row.account_id,
    aal: row.aal,
    amr: JSON.parse(row.amr) as AuthenticationMethod[],
    refreshToken: refreshTokenOf(row),
    refreshCounter: row.refresh_counter,
  }
}
