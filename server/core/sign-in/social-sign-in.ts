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
