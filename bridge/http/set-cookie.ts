/** A cookie as it is kept. The value goes back as it came. */
export interface StoredCookie {
  name: string
  value: string
  path: string
  secure: boolean
  /** Epoch seconds; `undefined` lasts as long as the process. */
  expiresAt: number | undefined
}

/** What browsers keep; more would only fill the request's head. */
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
