import type { HttpRequest, HttpResponse } from './http-client.ts'
import { isLoopbackHost } from './route.ts'

/**
 * Cookies by origin, kept in memory for balancers that hold a session on one server by them. They go back to the exact origin
 * that set them: `Domain` is not honoured, so that nothing reaches another host.
 */
export type CookieJar = Map<string, StoredCookie[]>

/** A server that sets more loses its oldest. */
const maxCookiesPerOrigin = 50

/** Returns the headers with the cookies for that URL, behind those of a `Cookie` header that is there. `now` in epoch seconds. */
export function withCookies(
  jar: CookieJar,
  headers: HttpRequest['headers'],
  requestUrl: string,
  now: number,
): HttpRequest['headers'] {
  const url = new URL(requestUrl)
  const sent = (jar.get(url.origin) ?? []).filter((cookie) => !isExpired(cookie, now) && isFor(cookie, url))
  if (sent.length === 0) return headers
  const own = Object.keys(headers).find((name) => name.toLowerCase() === 'cookie')
  const pairs = sent
    .toSorted((one, other) => other.path.length - one.path.length)
    .map((cookie) => `${cookie.name}=${cookie.value}`)
  return {
    ...headers,
    [own ?? 'Cookie']: [...(own === undefined ? [] : [headers[own]]), ...pairs].join('; '),
  }
}

/** Stores the cookies of a response for the origin of its request. */
export function storeCookies(
  jar: CookieJar,
  { headers }: Pick<HttpResponse, 'headers'>,
  requestUrl: string,
  now: number,
): void {
  const lines = headers['set-cookie'] ?? []
  const url = new URL(requestUrl)
  let cookies = jar.get(url.origin) ?? []
  for (const line of typeof lines === 'string' ? [lines] : lines) {
    const cookie = parseSetCookie(line, url.pathname, now)
    if (cookie === undefined) continue
    cookies = cookies.filter((old) => old.name !== cookie.name || old.path !== cookie.path)
    if (!isExpired(cookie, now)) cookies.push(cookie)
  }
  jar.set(url.origin, cookies.slice(-maxCookiesPerOrigin))
}

function isExpired(cookie: StoredCookie, now: number): boolean {
  return cookie.expiresAt !== undefined && cookie.expiresAt <= now
}

function isFor(cookie: StoredCookie, url: URL): boolean {
  if (cookie.secure && url.protocol !== 'https:' && !isLoopbackHost(url.hostname)) return false
  const { path } = cookie
  if (!url.pathname.startsWith(path)) return false
  return path.endsWith('/') || url.pathname.length === path.length || url.pathname[path.length] === '/'
}

/** A cookie as it is kept. The value goes back as it came. */
interface StoredCookie {
  name: string
  value: string
  path: string
  secure: boolean
  /** Epoch seconds; `undefined` lasts as long as the process. */
  expiresAt: number | undefined
}

/** As much as browsers keep; more would only fill the head of the request. */
const maxCharacters = 4096

/**
 * Reads a `Set-Cookie` header (RFC 6265 section 5.2). `undefined` for one without a name, too long, or with a character
 * that must not come back in a header. `requestPath` gives the default of `Path` (section 5.1.4), `now` in epoch seconds
 * the base of `Max-Age`. Of an attribute that comes twice the last counts. `Domain`, `HttpOnly` and `SameSite` mean nothing here.
 */
export function parseSetCookie(line: string, requestPath: string, now: number): StoredCookie | undefined {
  const [pair = '', ...rest] = line.split(';')
  if (!pair.includes('=')) return undefined
  const { key: name, text: value } = splitAtEquals(pair)
  if (name === '' || name.length + value.length > maxCharacters || !isPlain(pair)) return undefined
  const attributes = new Map(rest.map(splitAtEquals).map(({ key, text }) => [key.toLowerCase(), text]))
  const path = attributes.get('path')
  return {
    name,
    value,
    path: path?.startsWith('/') === true ? path : defaultPath(requestPath),
    secure: attributes.has('secure'),
    expiresAt: expiryOf(attributes, now),
  }
}

/** `Max-Age` wins, wherever it stands (RFC 6265 section 5.3). */
function expiryOf(attributes: ReadonlyMap<string, string>, now: number): number | undefined {
  const maxAge = attributes.get('max-age') ?? ''
  if (/^-?\d+$/.test(maxAge)) return now + Number(maxAge)
  const ms = Date.parse(attributes.get('expires') ?? '')
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}

/** Without `=` the whole is the key: `Secure` is one, and a cookie without a name is none. */
function splitAtEquals(text: string): { key: string; text: string } {
  const equals = text.indexOf('=')
  if (equals === -1) return { key: text.trim(), text: '' }
  return { key: text.slice(0, equals).trim(), text: text.slice(equals + 1).trim() }
}

function defaultPath(requestPath: string): string {
  const last = requestPath.lastIndexOf('/')
  return last <= 0 ? '/' : requestPath.slice(0, last)
}

function isPlain(text: string): boolean {
  return /^[\x20-\x7E]*$/.test(text)
}
