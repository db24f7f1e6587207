import { decodeBase64Lenient, decodeUtf8 } from '../base64url.ts'
import { isJsonObject } from '../json-object.ts'

/** The two members of a session that leave this module; refresh and provider tokens never do. */
export interface DecodedSession {
  accessToken: string
  /** The session's own `expires_at` in epoch seconds. The token's `exp` is more reliable. */
  sessionExpiresAt: number | undefined
}

/** `malformed`: the value does not decode to JSON. `no-access-token`: the JSON has no access token. */
export type SessionDecodeFault = 'malformed' | 'no-access-token'

/**
 * Decodes a session from the chunks of one cookie value, as on the wire and in order. If all of them together are not a
 * session, tries ever shorter prefixes: a session that has shrunk leaves old chunks after its own.
 *
 * A valid prefix ends where the first JSON value of the joined text ends, so that place is looked for once and
 * a hostile value costs time linear in its length. Values: plain JSON, `base64-` or `base64l-<n>-` and base64
 * of either alphabet, or `base64l-<n>-` and plain JSON (written by one release of the library).
 */
export function decodeSession(chunks: readonly string[]): DecodedSession | SessionDecodeFault {
  let text = ''
  const ends: number[] = []
  for (const chunk of chunks) {
    text += decodeWireValue(chunk)
    ends.push(text.length)
  }
  const json = firstJson(text, ends)
  return json === undefined ? 'malformed' : readSession(json)
}

function decodeWireValue(wireValue: string): string {
  const quoted = wireValue.length >= 2 && wireValue.startsWith('"') && wireValue.endsWith('"')
  const value = quoted ? wireValue.slice(1, -1) : wireValue
  if (!value.includes('%')) return value
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** Returns the JSON text that a prefix consists of, apart from white space at its end. */
function firstJson(text: string, ends: readonly number[]): string | undefined {
  const [marker = ''] = /^base64(?:l-[0-9a-z]+)?-/.exec(text) ?? []
  const isPlain = marker === '' || (marker.startsWith('base64l-') && text[marker.length] === '{')
  const body = text.slice(marker.length)
  const bodyEnds = ends.map((end) => end - marker.length).filter((end) => end > 0)
  return isPlain ? firstPlainJson(body, bodyEnds) : firstBase64Json(body, bodyEnds)
}

function firstPlainJson(body: string, ends: readonly number[]): string | undefined {
  const found = findJson(body.length, (index) => body.charCodeAt(index))
  if (found === undefined || !ends.some((end) => end >= found.end && end <= found.spaceEnd)) return undefined
  return body.slice(0, found.end)
}

function firstBase64Json(body: string, ends: readonly number[]): string | undefined {
  const illegal = body.search(/[^A-Za-z0-9+/\-_= \t\n\f\r]/)
  const legalEnd = ends.findLast((end) => illegal === -1 || end <= illegal)
  const bytes = legalEnd === undefined ? undefined : decodeBase64Lenient(body.slice(0, legalEnd))
  if (bytes === undefined) return undefined
  const found = findJson(bytes.length, (index) => bytes[index] ?? 0)
  if (found === undefined) return undefined
  const fits = byteLengths(body, ends).some((length) => length >= found.end && length <= found.spaceEnd)
  return fits ? decodeUtf8(bytes.subarray(0, found.end)) : undefined
}

/** Returns the number of decoded bytes up to each end. */
function byteLengths(body: string, ends: readonly number[]): number[] {
  let start = 0
  let sextets = 0
  return ends.map((end) => {
    sextets += body.slice(start, end).replaceAll(/[= \t\n\f\r]/g, '').length
    start = end
    return Math.floor((sextets * 6) / 8)
  })
}

const [other, opener, closer, quote, backslash, space] = [0, 1, 2, 3, 4, 5]

/** The role of a code unit in JSON. Works for UTF-8 and UTF-16, as all marks are ASCII. */
const marks: Uint8Array = new Uint8Array(128)
for (const [mark, characters] of [
  [opener, '{['],
  [closer, '}]'],
  [quote, '"'],
  [backslash, '\\'],
  [space, ' \t\n\r'],
] as const) {
  for (const character of characters) marks[character.charCodeAt(0)] = mark
}

/**
 * Finds the end of the leading object or array, and of the white space after it, by brackets and strings only; the
 * parser decides afterwards whether it is valid JSON.
 */
function findJson(
  length: number,
  at: (index: number) => number,
): { end: number; spaceEnd: number } | undefined {
  let depth = 0
  let inString = false
  for (let index = 0; index < length; index++) {
    const mark = marks[at(index)] ?? other
    if (inString) {
      if (mark === backslash) index++
      else if (mark === quote) inString = false
    } else if (mark === opener) depth++
    else if (mark === closer) {
      depth--
      if (depth <= 0) return { end: index + 1, spaceEnd: skipSpace(index + 1, length, at) }
    } else if (depth === 0 && mark !== space) return undefined
    else if (mark === quote) inString = true
  }
  return undefined
}

function skipSpace(start: number, length: number, at: (index: number) => number): number {
  let index = start
  while (index < length && marks[at(index)] === space) index++
  return index
}

function readSession(json: string): DecodedSession | SessionDecodeFault {
  let session: unknown
  try {
    session = JSON.parse(json)
  } catch {
    return 'malformed'
  }
  if (Array.isArray(session)) return sessionOf(session[0], undefined)
  if (!isJsonObject(session)) return 'no-access-token'
  return sessionOf(session['access_token'], session['expires_at'])
}

function sessionOf(accessToken: unknown, expiresAt: unknown): DecodedSession | SessionDecodeFault {
  if (typeof accessToken !== 'string' || accessToken === '') return 'no-access-token'
  const isTime = typeof expiresAt === 'number' && Number.isFinite(expiresAt)
  return { accessToken, sessionExpiresAt: isTime ? expiresAt : undefined }
}
