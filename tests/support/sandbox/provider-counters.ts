/** The sessions that a sign-out ends: all of the user, this one, or all but this one. */
export type SignOutScope = 'global' | 'local' | 'others'

/** Requests received since the last reset, and some of their outcomes. */
export interface ProviderCounters {
  /** `POST /token` by `grant_type`, successful or not. */
  token: Record<'password' | 'refresh_token' | 'pkce', number>
  /** Refreshes that spent a token, not counting forgiven replays. */
  rotations: number
  /** Families of refresh tokens that ended because of a reuse. */
  reuseRevocations: number
  signup: number
  user: number
  /** `POST /logout`, successful or not. */
  logout: number
  /** Completed sign-outs. */
  signOuts: Record<SignOutScope, number>
  authorize: number
  jwks: number
}

export function createProviderCounters(): ProviderCounters {
  return {
    token: { password: 0, refresh_token: 0, pkce: 0 },
    rotations: 0,
    reuseRevocations: 0,
    signup: 0,
    user: 0,
    logout: 0,
    signOuts: { global: 0, local: 0, others: 0 },
    authorize: 0,
    jwks: 0,
  }
}
