/** Which sessions a sign-out ends: all of the user, this one, or all but this one. */
export type SignOutScope = 'global' | 'local' | 'others'

/** Requests received since the last reset, and what came of some of them. */
export interface ProviderCounters {
  /** `POST /token` by `grant_type`, successful or not. */
  token: Record<'password' | 'refresh_token' | 'pkce', number>
  /** Refreshes that spent a token; a forgiven replay is not one. */
  rotations: number
  /** Families of refresh tokens that ended because a used one came again. */
  reuseRevocations: number
  signup: number
  user: number
  /** `POST /logout`, successful or not. */
  logout: number
  /** Sign-outs that were done. */
  signOuts: Record<SignOutScope, number>
  authorize: number
  jwks: number
}

/** Counters at zero. */
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
