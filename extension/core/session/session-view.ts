/** Where a session was found. */
export type SessionPlace = 'cookie' | 'partitioned-cookie' | 'local-storage'

/** A session as the popup shows it: nothing in it is secret, but for the text that was asked to be revealed. */
export interface SessionView {
  /** Stable while the popup is open. */
  id: string
  /** The e-mail or, without one, the subject that the token names; undefined when it is no JWT. Not verified. */
  account: string | undefined
  /** The project reference of a default cookie name, else the cookie's name. */
  project: string
  /** Host of the token's issuer. */
  issuer: string | undefined
  place: SessionPlace
  /** Epoch seconds. */
  expiresAt: number | undefined
}
