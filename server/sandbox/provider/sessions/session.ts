import { createHmac, randomUUID } from 'node:crypto'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../../database.ts'

export type AuthenticationMethod = 'password' | 'oauth' | 'totp' | 'otp' | 'magiclink' | 'sso/saml'

/** A session of an account. Times are epoch seconds. */
export interface Session {
  id: string
  accountId: string
  aal: 'aal1' | 'aal2'
  /** The sign-in methods and when each was used, newest first, as in the `amr` claim. */
  amr: { method: AuthenticationMethod; timestamp: number }[]
  /** Derives the refresh tokens; base64url. */
  refreshKey: string
  /** Counter of the active refresh token. */
  refreshCounter: number
  /** Tokens with a lower counter are never forgiven. */
  refreshFloor: number
  refreshedAt: number
}

/** A genuine refresh token; it may be a used one. */
export interface PresentedRefreshToken {
  session: Session
  counter: number
}

/** Each session is one JSON document. */
export const sessionSchema = `CREATE TABLE IF NOT EXISTS user_session (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS user_session_account ON user_session (account_id);`

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
    const now = this.#runtime.now()
    return this.#save({
      id: randomUUID(),
      accountId,
      aal: 'aal1',
      amr: [{ method, timestamp: now }],
      refreshKey: encodeBase64url(this.#runtime.randomBytes(32)),
      refreshCounter: 0,
      refreshFloor: 0,
      refreshedAt: now,
    })
  }

  find(id: string): Session | undefined {
    const row = this.#database.get<{ body: string }>('SELECT body FROM user_session WHERE id = ?', id)
    return row && (JSON.parse(row.body) as Session)
  }

  /**
   * Throws `refresh_token_not_found` for a token whose session is over, and `validation_failed` for one that this database never
   * issued, because it was tampered with or the database was restored from an older copy.
   */
  present(refreshToken: string): PresentedRefreshToken {
    const [, id, count] = /^([\da-f-]{36})\.(\d+)\./.exec(refreshToken) ?? []
    const session = id === undefined ? undefined : this.#get(id)
    const counter = Number(count)
    const isGenuine = session && constantTimeEqual(refreshTokenOf(session, counter), refreshToken)
    if (!isGenuine || counter > session.refreshCounter) {
      throw new AuthError(400, 'validation_failed', 'Refresh token is not valid')
    }
    return { session, counter }
  }

  /**
   * Spends a refresh token. The active one gets a successor. Its immediate parent, at any time, and any other within the reuse
   * interval since the last refresh are forgiven: they return the active one unchanged. Everything else ends the session with
   * `refresh_token_already_used`.
   */
  rotate({ session: { id }, counter }: PresentedRefreshToken): { session: Session; rotated: boolean } {
    const now = this.#runtime.now()
    const session = this.#get(id)
    const rotated = counter === session.refreshCounter
    if (!rotated && !this.#isForgiven(session, counter, now)) {
      this.end(id)
      throw new AuthError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
    }
    const refreshCounter = session.refreshCounter + (rotated ? 1 : 0)
    return { session: this.#save({ ...session, refreshCounter, refreshedAt: now }), rotated }
  }

  /** Raises the session to aal2, with a new refresh token, and ends the account's sessions below. */
  raise(id: string): Session {
    const session = this.#get(id)
    const proof = { method: 'totp' as const, timestamp: this.#runtime.now() }
    const amr = [proof, ...session.amr.filter(({ method }) => method !== 'totp')]
    const next = session.refreshCounter + 1
    // The floor keeps the token of the first step from being forgiven as the parent of the new one.
    const raised = this.#save({ ...session, aal: 'aal2', amr, refreshCounter: next, refreshFloor: next })
    const sql = `DELETE FROM user_session WHERE account_id = ? AND body ->> 'aal' = 'aal1'`
    this.#database.run(sql, raised.accountId)
    return raised
  }

  end(id: string): void {
    this.#database.run('DELETE FROM user_session WHERE id = ?', id)
  }

  endAll(accountId: string, exceptId = ''): void {
    this.#database.run('DELETE FROM user_session WHERE account_id = ? AND id <> ?', accountId, exceptId)
  }

  #isForgiven(session: Session, counter: number, now: number): boolean {
    if (counter < session.refreshFloor) return false
    const isParent = session.refreshCounter - counter === 1
    return isParent || now - session.refreshedAt < this.reuseIntervalSeconds
  }

  #get(id: string): Session {
    const session = this.find(id)
    if (session) return session
    throw new AuthError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
  }

  #save(session: Session): Session {
    const sql = `INSERT INTO user_session (id, account_id, body) VALUES (?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET body = excluded.body`
    this.#database.run(sql, session.id, session.accountId, JSON.stringify(session))
    return session
  }
}

/**
 * Returns the refresh token with this counter, by default the active one. It is derived, never stored: a replay of a parent can return
 * the active token, which a stored hash could not provide.
 */
export function refreshTokenOf(
  { id, refreshKey, refreshCounter }: Session,
  counter = refreshCounter,
): string {
  const claim = `${id}.${counter}`
  const key = Buffer.from(refreshKey, 'base64url')
  return `${claim}.${createHmac('sha256', key).update(claim).digest('base64url')}`
}
