import type { StoredProviderSession } from '../session/grant.ts'

/** A sign-in that waits for its second factor. */
export interface PendingSecondFactor {
  id: string
  /** Hash of the browser binding: only the browser that made the first step may make the second. */
  bindingHash: string
  /** The factors to choose from; the authorization request travels with the page. */
  sealed: string
  /** The half-way session; its `grantId` is `id`. */
  session: StoredProviderSession
  expiresAt: number
}

/** Sign-ins that wait for their second factor. A session that is not taken up goes to the sign-out outbox. */
export interface SecondFactorStore {
  addSecondFactor(pending: PendingSecondFactor): Promise<void>
  /**
   * Counts an attempt and answers what it is about; undefined when `id` is unknown or expired, belongs to another
   * browser, or has had `most` attempts: then it is over, and its session due for sign-out.
   */
  attemptSecondFactor(
    attempt: { id: string; bindingHash: string; most: number },
    now: number,
  ): Promise<PendingSecondFactor | undefined>
  /** Takes it away. True for exactly one caller. With `signOut` its session becomes due for sign-out. */
  removeSecondFactor(id: string, signOut: boolean, now: number): Promise<boolean>
}

/** A social sign-in that has left for the provider and not come back. `sealed` holds its authorization request and secret. */
export interface PendingSocialSignIn {
  id: string
  /** Hash of the browser binding: only the browser that left may return. */
  bindingHash: string
  sealed: string
  expiresAt: number
}

/** Where pending social sign-ins live. */
export interface SocialSignInStore {
  /** Keeps the newest `most` of one browser: each open tab has its own. */
  addSocialSignIn(pending: PendingSocialSignIn, most: number): Promise<void>
  /** Unexpired ones of one browser, newest first. */
  listSocialSignIns(bindingHash: string, now: number): Promise<PendingSocialSignIn[]>
  /** True for the one caller that took it away. */
  removeSocialSignIn(id: string): Promise<boolean>
}
