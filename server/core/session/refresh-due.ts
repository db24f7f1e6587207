import type { StoredProviderSession } from './grant.ts'
import { spreadOf } from './spread.ts'

const refreshAheadSeconds = 120
const refreshJitterSeconds = 30

/**
 * Whether it is time to refresh `session`: 120 +- 30 seconds before its access token ends, spread by grant, but never
 * for more than the last fifth of the token's life. Not looked at: whether the provider still takes the token.
 */
export function isDue(session: StoredProviderSession, now: number): boolean {
  const left = session.expiresAt - now
  const lastFifth = Math.floor((session.expiresAt - session.issuedAt) / 5)
  // Nearly every call ends here, before anything is computed from the grant's id.
  if (left > Math.min(refreshAheadSeconds + refreshJitterSeconds, lastFifth)) return false
  const spread = Math.floor(spreadOf(session.grantId) * (2 * refreshJitterSeconds + 1))
  return left <= refreshAheadSeconds - refreshJitterSeconds + spread
}
