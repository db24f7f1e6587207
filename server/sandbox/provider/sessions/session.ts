import { createHmac, randomUUID } from 'node:crypto'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../../database.ts'

export type AuthenticationMethod = 'password' | 'oauth' | 'totp' | 'otp' | 'magiclink' | 'sso/saml'

/** One sign-in method and when it was used, as in the `amr` claim. */
interface UsedMethod {
  method: AuthenticationMethod
  timestamp: number
}

export interface Session {
  id: string
  accountId: string
  aal: 'aal1' | 'aal2'
  /** Newest first. */
  amr: UsedMethod[]
  refreshToken: string
  refreshCounter: number
}

/** A genuine refresh token; it may be a used one. */
export interface PresentedRefreshToken {
  session: Session
  counter: number
}

export const sessionSchema = `CREATE TABLE IF NOT EXISTS user_session (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  aal TEXT NOT NULL,
  amr TEXT NOT NULL,
  refresh_key BLOB NOT NULL,
  refresh_counter INTEGER NOT NULL,
  refresh_floor INTEGER NOT NULL,
  refreshed_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS user_session_account ON user_session (account_id);`

/** Times are epoch seconds. */
interface SessionRow {
  id: string
  account_id: string
  aal: 'aal1' | 'aal2'
  amr: string
  refresh_key: Uint8Array
  /** Counter of the active refresh token. */
  refresh_counter: number
  /** Tokens with a lower counter are never forgiven. */
  refresh_floor: number
  refreshed_at: number
}

/** The sessions of all accounts and the rotation of their refresh tokens. */
export class Sessions {
  /** Seconds within which concurrent refreshes are forgiven. */
  reuseIntervalSeconds = 10
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now' | 'randomBytes'>

  constructor(database: Database, runtime: Pick<Runtime, 'now' | 'randomBytes'>) {
    this.#database = database
    this.#runtime = runtime
  }

  create(accountId: string, method: AuthenticationMethod): Session {
    const id = randomUUID()
    const now = this.#runtime.now()
    this.#database.run(
      `INSERT INTO user_session (id, account_id, aal, amr, refresh_key,
         refresh_counter, refresh_floor, refreshed_at, created_at)
       VALUES (?, ?, 'aal1', ?, ?, 0, 0, ?, ?)`,
      id,
      accountId,
      JSON.stringify([{ method, timestamp: now }]),
      this.#runtime.randomBytes(32),
      now,
      now,
    )
    return toSession(this.#row(id))
  }

  find(id: string): Session | undefined {
    const row = this.#find(id)
    return row && toSession(row)
  }

  /**
   * Throws `refresh_token_not_found` for a token whose session is over, and `validation_failed` for one that this database never
   * issued, because it was tampered with or the database was restored from an older copy.
   */
  present(refreshToken: string): PresentedRefreshToken {
    const [, id, count] = /^([\da-f-]{36})\.(\d+)\./.exec(refreshToken) ?? []
    const row = id === undefined ? undefined : this.#row(id)
    const counter = Number(count)
    if (
      !row ||
      !constantTimeEqual(refreshTokenOf(row, counter), refreshToken) ||
      counter > row.refresh_counter
    ) {
      throw new AuthError(400, 'validation_failed', 'Refresh token is not valid')
    }
    return { session: toSession(row), counter }
  }

  /**
   * Spends a refresh token. The active one gets a successor. Its immediate parent, at any time, and any other within the reuse
   * interval since the last refresh are forgiven: they return the active one unchanged. Everything else ends the session with
   * `refresh_token_already_used`.
   */
  rotate({ session: { id }, counter }: PresentedRefreshToken): { session: Session; rotated: boolean } {
    const now = this.#runtime.now()
    const row = this.#row(id)
    const isActive = counter === row.refresh_counter
    if (!isActive && !this.#isForgiven(row, counter, now)) {
      this.end(id)
      throw new AuthError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
    }
    const sql = 'UPDATE user_session SET refresh_counter = refresh_counter + ?, refreshed_at = ? WHERE id = ?'
    this.#database.run(sql, isActive ? 1 : 0, now, id)
    return { session: toSession(this.#row(id)), rotated: isActive }
  }

  /** Raises the session to aal2, with a new refresh token, and ends the account's sessions below. */
  raise(id: string): Session {
    const { accountId, amr: earlier } = toSession(this.#row(id))
    const proof = { method: 'totp', timestamp: this.#runtime.now() }
    // The floor keeps the token of the first step from being forgiven as the parent of the new one.
    this.#database.run(
      `UPDATE user_session SET aal = 'aal2', amr = ?, refresh_counter = refresh_counter + 1,
         refresh_floor = refresh_counter + 1 WHERE id = ?`,
      JSON.stringify([proof, ...earlier.filter(({ method }) => method !== 'totp')]),
      id,
    )
    this.#database.run(`DELETE FROM user_session WHERE account_id = ? AND aal = 'aal1'`, accountId)
    return toSession(this.#row(id))
  }

  end(id: string): void {
    this.#database.run('DELETE FROM user_session WHERE id = ?', id)
  }

  endAll(accountId: string, exceptId = ''): void {
    this.#database.run('DELETE FROM user_session WHERE account_id = ? AND id <> ?', accountId, exceptId)
  }

  #isForgiven(row: SessionRow, counter: number, now: number): boolean {
    if (counter < row.refresh_floor) return false
    const isParent = row.refresh_counter - counter === 1
    return isParent || now - row.refreshed_at < this.reuseIntervalSeconds
  }

  #find(id: string): SessionRow | undefined {
    return this.#database.get('SELECT * FROM user_session WHERE id = ?', id)
  }

  #row(id: string): SessionRow {
    const row = this.#find(id)
    if (row) return row
    throw new AuthError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
  }
}

/** Derived, never stored: a replay of a parent can return the active token, which a stored hash could not provide. */
function refreshTokenOf({ id, refresh_key: key }: SessionRow, counter: number): string {
  const claim = `${id}.${counter}`
  return `${claim}.${createHmac('sha256', key).update(claim).digest('base64url')}`
}

function toSession(row: SessionRow): Session {
  return {
    id: row.id,
    accountId: row.account_id,
    aal: row.aal,
    amr: JSON.parse(row.amr) as UsedMethod[],
    refreshToken: refreshTokenOf(row, row.refresh_counter),
    refreshCounter: row.refresh_counter,
  }
}
