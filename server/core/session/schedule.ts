import type { StoredProviderSession } from './grant.ts'

const refreshAheadSeconds = 120
const refreshJitterSeconds = 30

/**
 * True when `session` is due for refresh: 120 +- 30 seconds before its access token ends, spread by grant, but at most the last
 * fifth of the token's life. Does not check whether the provider still accepts the token.
 */
export function isDue(session: StoredProviderSession, now: number): boolean {
  const left = session.expiresAt - now
  const lastFifth = Math.floor((session.expiresAt - session.issuedAt) / 5)
  // Nearly every call returns here, before hashing the grant's id.
  if (left > Math.min(refreshAheadSeconds + refreshJitterSeconds, lastFifth)) return false
  const spread = Math.floor(spreadOf(session.grantId) * (2 * refreshJitterSeconds + 1))
  return left <= refreshAheadSeconds - refreshJitterSeconds + spread
}

/**
 * Returns a number from 0 (inclusive) to 1 (exclusive) that is constant for `id` and evenly distributed, to spread simultaneous
 * work over time. Not cryptographic.
 */
export function spreadOf(id: string): number {
  let hash = 0x811c9dc5
  // FNV-1a, whose high bits barely depend on the last character: the two multiplications at the end mix them.
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000
}
