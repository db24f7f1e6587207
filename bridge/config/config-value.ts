import { isAbsolute } from 'node:path'
import { decodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'

/** What a value may refer to. */
export interface ValueSource {
  environment: Readonly<Record<string, string | undefined>>
  /** Text of a file; throws as `node:fs` does. */
  readText(path: string): string
  /** Told the name of each variable that is put in place of `${NAME}`. */
  onVariable?(name: string): void
}

/**
 * Turns the text of a setting into its value; throws a `TypeError` whose message says what is expected, without the text
 * itself. Texts of a repeated setting come one by one.
 */
export type ValueParser<Value> = (text: string, source: ValueSource) => Value

const onOff: Readonly<Record<string, boolean>> = {
  on: true,
  true: true,
  '1': true,
  off: false,
  false: false,
  '0': false,
}

/** `on` or `off`; also `true`, `false`, `1`, `0`, as people write in variables. */
export function parseSwitch(text: string): boolean {
  const value = Object.hasOwn(onOff, text.toLowerCase()) ? onOff[text.toLowerCase()] : undefined
  if (value === undefined) throw new TypeError('expected on or off')
  return value
}

const msPerUnit: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const maxMs = 24 * 3_600_000

/** A duration in milliseconds of at most a day: seconds, as mcp-remote has them, or a number with a unit. At least 1 ms. */
export function parseDuration(text: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(text)
  const ms = Math.round(Number(match?.[1]) * (msPerUnit[match?.[2] ?? 's'] ?? 1))
  if (!match || ms < 1 || ms > maxMs) {
    throw new TypeError('expected seconds, or a number with a unit, such as 30, 500ms, 20s or 5m')
  }
  return ms
}

/** As {@link parseDuration}; `off` and 0 are 0: no limit, or never. */
export function parseDurationOrOff(text: string): number {
  return text === 'off' || /^0(?:ms|s|m|h)?$/.test(text) ? 0 : parseDuration(text)
}

/** Any text but an empty one. */
export function parseText(text: string): string {
  if (text.trim() === '') throw new TypeError('expected a text')
  return text
}

/** A name that may stand in a shell, a file name and a table. */
export function parseName(text: string): string {
  if (!/^[\w.-]{1,64}$/.test(text)) throw new TypeError('expected letters, digits, dots, dashes, underscores')
  return text
}

/** Space-separated scopes of the characters of RFC 6749 section 3.3. */
export function parseScope(text: string): string {
  if (!/^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/.test(text)) {
    throw new TypeError('expected scopes with single blanks between them')
  }
  return text
}

/** A bearer token as it may stand in a header (RFC 6750 section 2.1, but more characters: some servers use them). */
export function parseToken(text: string): string {
  const token = text.trim()
  if (!/^[\x21-\x7E]+$/.test(token)) throw new TypeError('expected a token without blanks and line ends')
  return token
}

/** A key of 32 bytes as base64url. */
export function parseSealingKeyText(text: string): string {
  const key = text.trim()
  if (decodeBase64url(key)?.length !== 32)
    throw new TypeError('expected 32 bytes as base64url, 43 characters')
  return key
}

/** An absolute path, or one relative to where the command runs. */
export function parsePath(text: string): string {
  return parseText(text)
}

/** A path that means the same wherever a client starts the bridge. */
export function parseAbsolutePath(text: string): string {
  if (!isAbsolute(text)) throw new TypeError('expected an absolute path')
  return text
}

/** An absolute https URL, or http for this machine. Kept as it was written: identifiers are compared to the letter. */
export function parseSecureUrl(text: string): string {
  const url = webUrl(text)
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHostname(url.hostname)))
    return text
  throw new TypeError('expected an https URL; http is for this machine only')
}

/** An absolute http or https URL. */
export function parseWebUrl(text: string): string {
  if (webUrl(text) === undefined) throw new TypeError('expected a URL that begins with https:// or http://')
  return text
}

/** URL of a client ID metadata document: https, with a path, without fragment and dot segments (CIMD section 3). */
export function parseDocumentUrl(text: string): string {
  const url = webUrl(text)
  if (url?.protocol !== 'https:' || url.pathname === '/' || url.hash !== '' || url.href !== text) {
    throw new TypeError('expected an https URL with a path and no fragment')
  }
  return text
}

/** A `resource` indicator: an absolute URI without fragment (RFC 8707 section 2). Kept as it was written. */
export function parseResource(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\S+$/i.test(text) || !URL.canParse(text) || text.includes('#')) {
    throw new TypeError('expected an absolute URI without fragment')
  }
  return text
}

/** Address of a proxy. A scheme that is left out is http; anything but a host, a port and a user is refused. */
export function parseProxy(text: string): string {
  if (text === 'off') return text
  const url = webUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`)
  if (!url || url.hostname === '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      'expected the address of an HTTP proxy, such as http://proxy.example.com:3128, or off',
    )
  }
  return url.href
}

/** The parameter of an authorization request, `name=value`. Refuses those that are part of the protocol. */
export function parseAuthorizeParameter(text: string): readonly [name: string, value: string] {
  const [, name = '', value = ''] = /^([^=\s]+)=(.*)$/s.exec(text) ?? []
  if (name === '') throw new TypeError('expected name=value')
  if (protocolParameters.has(name))
    throw new TypeError(`expected another parameter than ${name}, which is sent anyway`)
  return [name, value]
}

// Overridden, they would take the protection away that the sign-in has.
const protocolParameters = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'response_type',
  'state',
])

function webUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s]+$/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}
