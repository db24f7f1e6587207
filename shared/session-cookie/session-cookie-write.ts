import { encodeBase64url, encodeUtf8 } from '../base64url.ts'
import type { WireCookie } from './cookie-header.ts'
import { isSessionCookieName } from './session-cookie-name.ts'

const maximumValueLength = 3180

/**
 * The cookies that hold a session, laid out as `@supabase/ssr` 0.12.7 writes by default: `base64-` and the
 * JSON in base64url, in one cookie up to 3180 characters, else in `<name>.0`, `<name>.1` and so on, all but
 * the last exactly that long. The library's limit is on the percent-encoded value; these characters need no
 * encoding, so the plain length is the same. Attributes and the removal of older cookies are the caller's:
 * see `staleSessionCookies`.
 */
export function writeSessionCookies(session: object, options: { name: string }): WireCookie[] {
  const value = `base64-${encodeBase64url(encodeUtf8(JSON.stringify(session)))}`
  if (value.length <= maximumValueLength) return [{ name: options.name, value }]
  const count = Math.ceil(value.length / maximumValueLength)
  return Array.from({ length: count }, (_, index) => ({
    name: `${options.name}.${index}`,
    value: value.slice(index * maximumValueLength, (index + 1) * maximumValueLength),
  }))
}

/**
 * Names of cookies to delete beside writing `written`, so that no chunk of a longer session and no un-chunked
 * value stays: a reader could take it for part of the new one. With `written` empty: everything a sign-out
 * removes. Neighbours such as `<name>-code-verifier` are kept. Each name once.
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
