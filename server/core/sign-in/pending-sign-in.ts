import type { StoredProviderSession } from '../session/grant.ts'

export interface PendingSecondFactor {
  id: string
  /** Hash of the CSRF cookie: only the browser of the first step may continue with the second. */
  bindingHash: string
  /** The factors to choose from; the authorization request travels with the page. */
  sealed: string
  /** The incomplete session; its `grantId` is `id`. */
  session: StoredProviderSession
  expiresAt: number
}

/** Stores sign-ins waiting for their second factor. An unclaimed session goes to the sign-out outbox. */
export interface SecondFactorStore {
  addSecondFactor(pending: PendingSecondFactor): Promise<void>
  /**
   * Counts an attempt and returns its sign-in; undefined when `id` is unknown or expired, belongs to another browser, or has had
   * `most` attempts: then it is over, and its session due for sign-out.
   */
  attemptSecondFactor(
    attempt: { id: string; bindingHash: string; most: number },
    now: number,
  ): Promise<PendingSecondFactor | undefined>
  /** Removes it. Returns true for exactly one caller. With `signOut` its session becomes due for sign-out. */
  removeSecondFactor(id: string, signOut: boolean, now: number): Promise<boolean>
}

/** A social sign-in that has left for the provider and not returned. `sealed` holds its authorization request and secret. */
export interface PendingSocialSignIn {
  id: string
  /** Hash of the CSRF cookie: only the browser that left may return. */
  bindingHash: string
  sealed: string
  expiresAt: number
}

export interface SocialSignInStore {
  /** Adds a sign-in and keeps the newest `most` of its browser: each open tab has its own. */
  addSocialSignIn(pending: PendingSocialSignIn, most: number): Promise<void>
  /** Lists unexpired sign-ins of one browser, newest first. */
  listSocialSignIns(bindingHash: string, now: number): Promise<PendingSocialSignIn[]>
  /** Returns true for the one caller that removed it. */
  removeSocialSignIn(id: string): Promise<boolean>
}
