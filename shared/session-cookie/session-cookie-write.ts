import { encodeBase64url, encodeUtf8 } from '../base64url.ts'
import type { WireCookie } from './cookie-header.ts'
import { isSessionCookieName } from './session-cookie-name.ts'

const maxValueLength = 3180

/**
 * Returns the cookies for a session as `@supabase/ssr` 0.12.7 writes them by default: `base64-` and the JSON in
 * base64url, in one cookie up to 3180 characters, or else in `<name>.0`, `<name>.1` and so on, all but the last
 * exactly that long. The library limits the percent-encoded value; these characters need no encoding, so the plain
 * length is the same. The caller adds attributes and removes older cookies: see `staleSessionCookies`.
 */
export function writeSessionCookies(session: object, options: { name: string }): WireCookie[] {
  const value = `base64-${encodeBase64url(encodeUtf8(JSON.stringify(session)))}`
  if (value.length <= maxValueLength) return [{ name: options.name, value }]
  const count = Math.ceil(value.length / maxValueLength)
  return Array.from({ length: count }, (_, index) => ({
    name: `${options.name}.${index}`,
    value: value.slice(index * maxValueLength, (index + 1) * maxValueLength),
  }))
}

/**
 * Returns the names of cookies to delete when writing `written`: chunks of a longer session and un-chunked values,
 * which a reader could take for a part of the new session. With an empty `written`, everything that a sign-out
 * removes. Keeps cookies such as `<name>-code-verifier`.
 */
export function staleSessionCookies(
  present: readonly string[],
  written: readonly WireCookie[],
  options: { name: string },
): string[] {
  const kept = new Set(written.map((cookie) => cookie.name))
  const stale = present.filter((name) => !kept.has(name) && isSessionCookieName(name, options))
  return [...new Set(stale)]
}
