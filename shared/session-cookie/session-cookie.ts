import type { WireCookie } from './cookie-header.ts'
import { readJwt } from '../oauth/jwt.ts'
import { decodeSession, type DecodedSession } from './session-cookie-decode.ts'
import { isSessionCookieName } from './session-cookie-name.ts'

export { staleSessionCookies, writeSessionCookies } from './session-cookie-write.ts'

/**
 * Reasons why cookies of the right name do not contain a session. `too-large`: over 32 chunks or 131072 characters.
 * `no-access-token`: JSON without one. `missing-chunk`: a chunk before the last is gone. `malformed`: not valid
 * base64, UTF-8 or JSON.
 */
export type InvalidSessionReason = 'too-large' | 'no-access-token' | 'missing-chunk' | 'malformed'

/** The session in a cookie jar, or the reason for its absence. */
export type SessionCookieReading =
  | { kind: 'session'; accessToken: string; expiresAt: number | undefined; expired: boolean }
  | { kind: 'absent' }
  | { kind: 'invalid'; reason: InvalidSessionReason }

const maxChunks = 32
const maxLength = 131_072
const maxRepeats = 3

/**
 * Reads the session named `name` from a cookie jar, written by any release of the client libraries, also among stale chunks
 * and duplicates. Candidates in order: each un-chunked value, then the
 * chunks `.0 .1 ...` in numeric order up to the first gap and ever shorter prefixes of them, again with second
 * and third occurrences if chunk names repeat. The first unexpired session counts, else the first.
 *
 * `now` and `expiresAt` are epoch seconds. `expiresAt` is the token's own `exp`, without one the session's
 * `expires_at`; a session is expired from that second on, and unexpired if neither exists. The token is **not
 * verified**, need not be a JWT, and is the only secret returned. Never throws.
 */
export function readSessionCookie(
  cookies: readonly WireCookie[],
  options: { name: string; now: number },
): SessionCookieReading {
  const values = collectValues(cookies, options.name)
  if (values.size === 0) return { kind: 'absent' }
  const faults = new Set<InvalidSessionReason>()
  let expired: SessionCookieReading | undefined
  for (const candidate of candidates(values, options.name, faults)) {
    const decoded = decodeSession(candidate)
    if (typeof decoded === 'string') {
      faults.add(decoded)
      continue
    }
    const reading = describe(decoded, options.now)
    if (!reading.expired) return reading
    expired ??= reading
  }
  return expired ?? { kind: 'invalid', reason: mostHelpfulReason(faults) }
}

/** Non-empty values by cookie name, for the base name and its chunk names only. */
function collectValues(cookies: readonly WireCookie[], name: string): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const cookie of cookies) {
    if (cookie.value === '' || !isSessionCookieName(cookie.name, { name })) continue
    const known = values.get(cookie.name)
    if (known === undefined) values.set(cookie.name, [cookie.value])
    else known.push(cookie.value)
  }
  return values
}

/** Yields the values to decode, each a list of chunks. Adds to `faults` why others are not tried. */
function* candidates(
  values: ReadonlyMap<string, readonly string[]>,
  name: string,
  faults: Set<InvalidSessionReason>,
): Generator<readonly string[]> {
  const whole = values.get(name) ?? []
  for (const value of whole) {
    if (isAcceptable([value], faults)) yield [value]
  }
  const run = consecutiveChunks(values, name)
  if (run.length + Math.min(whole.length, 1) < values.size) faults.add('missing-chunk')
  const repeats = Math.min(maxRepeats, Math.max(0, ...run.map((chunk) => chunk.length)))
  for (let repeat = 0; repeat < repeats; repeat++) {
    const chunks = run.map((occurrences) => occurrences[repeat] ?? occurrences.at(-1) ?? '')
    if (isAcceptable(chunks, faults)) yield chunks
  }
}

/** Returns the occurrences of `.0`, `.1` and so on up to the first gap, at most one more than allowed. */
function consecutiveChunks(
  values: ReadonlyMap<string, readonly string[]>,
  name: string,
): (readonly string[])[] {
  const run: (readonly string[])[] = []
  while (run.length <= maxChunks) {
    const occurrences = values.get(`${name}.${run.length}`)
    if (occurrences === undefined) break
    run.push(occurrences)
  }
  return run
}

function isAcceptable(chunks: readonly string[], faults: Set<InvalidSessionReason>): boolean {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  if (chunks.length <= maxChunks && length <= maxLength) return true
  faults.add('too-large')
  return false
}

function describe(session: DecodedSession, now: number): Extract<SessionCookieReading, { kind: 'session' }> {
  const { accessToken, sessionExpiresAt } = session
  const expiresAt = readJwt(accessToken)?.expiresAt ?? sessionExpiresAt
  return { kind: 'session', accessToken, expiresAt, expired: expiresAt !== undefined && expiresAt <= now }
}

/** Returns the reason that helps most. */
function mostHelpfulReason(faults: ReadonlySet<InvalidSessionReason>): InvalidSessionReason {
  const order: InvalidSessionReason[] = ['too-large', 'no-access-token', 'missing-chunk']
  return order.find((reason) => faults.has(reason)) ?? 'malformed'
}
