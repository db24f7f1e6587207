import { createHmac, randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import { Collection } from '../../database.ts'

export type AuthenticationMethod =
  | 'password'
  | 'oauth'
  | 'totp'
  | 'otp'
  | 'magiclink'
  | 'sso/saml'
  | 'oauth_provider/authorization_code'

/** A session of an account. Times are epoch seconds. */
export interface Session {
  id: string
  accountId: string
  /** The client of the OAuth server that it belongs to. */
  clientId?: string | undefined
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

/** The sessions of all accounts and the rotation of their refresh tokens. */
export class Sessions {
  /** Seconds within which concurrent refreshes are forgiven. */
  reuseIntervalSeconds = 10
  readonly #sessions: Collection<Session>
  readonly #runtime: Pick<Runtime, 'now' | 'randomBytes'>

  constructor(database: DatabaseSync, runtime: Pick<Runtime, 'now' | 'randomBytes'>) {
    this.#sessions = new Collection(database, 'session')
    this.#runtime = runtime
  }

  create(accountId: string, method: AuthenticationMethod, clientId?: string): Session {
    const now = this.#runtime.now()
    return this.#sessions.save({
      id: randomUUID(),
      accountId,
      clientId,
      aal: 'aal1',
      amr: [{ method, timestamp: now }],
      refreshKey: encodeBase64url(this.#runtime.randomBytes(32)),
      refreshCounter: 0,
      refreshFloor: 0,
      refreshedAt: now,
    })
  }

  find(id: string): Session | undefined {
    return this.#sessions.find('id = ?', id)
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
    return { session: this.#sessions.save({ ...session, refreshCounter, refreshedAt: now }), rotated }
  }

  /** Raises the session to aal2, with a new refresh token, and ends the account's sessions below. */
  raise(id: string): Session {
    const session = this.#get(id)
    const proof = { method: 'totp' as const, timestamp: this.#runtime.now() }
    const amr = [proof, ...session.amr.filter(({ method }) => method !== 'totp')]
    const next = session.refreshCounter + 1
    // The floor keeps the token of the first step from being forgiven as the parent of the new one.
    const raised = this.#sessions.save({
      ...session,
      aal: 'aal2',
      amr,
      refreshCounter: next,
      refreshFloor: next,
    })
    this.#sessions.delete(`body ->> 'accountId' = ? AND body ->> 'aal' = 'aal1'`, raised.accountId)
    return raised
  }

  end(id: string): void {
    this.#sessions.delete('id = ?', id)
  }

  endAll(accountId: string, exceptId = ''): void {
    this.#sessions.delete(`body ->> 'accountId' = ? AND id <> ?`, accountId, exceptId)
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
