import type { StoredProviderSession } from './grant.ts'

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

/**
 * A number from 0 up to, not including, 1 that is always the same for `id` and evenly spread over many: so that what is
 * due at one moment for all of them is done at different moments. Not cryptographic.
 */
export function spreadOf(id: string): number {
  let hash = 0x811c9dc5
  // FNV-1a, whose high bits hardly know the last character: the two multiplications at the end stir them in.
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000
}
