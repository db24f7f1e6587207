import { isAbsolute } from 'node:path'
import { decodeBase64url } from '@drawbridge/shared/base64url.ts'
import { durationParser, webUrl } from '@drawbridge/shared/settings/value.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** Files and variables that a value may refer to. */
export interface ValueSource {
  environment: Readonly<Record<string, string | undefined>>
  /** Text of a file; throws as `node:fs` does. */
  readText(path: string): string
  /** Called with the name of each variable that replaces `${NAME}`. */
  onVariable?(name: string): void
}

/** A duration in milliseconds of at most a day: seconds, as mcp-remote has them, or a number with a unit. */
const parseDuration = durationParser({
  unitMs: 1,
  max: '24h',
  examples: '30, 500ms, 20s or 5m',
})

/** Parses a duration; `off` and 0 are 0: no limit, or never. */
export function parseDurationOrOff(text: string): number {
  return text === 'off' || /^0(?:ms|s|m|h|d)?$/.test(text) ? 0 : parseDuration(text)
}

/** Parses a name that is safe in a shell, a file name and a table. */
export function parseName(text: string): string {
  if (!/^[\w.-]{1,64}$/.test(text)) throw new TypeError('expected letters, digits, dots, dashes, underscores')
  return text
}

/** Parses space-separated scopes (RFC 6749 section 3.3). */
export function parseScope(text: string): string {
  if (!/^[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*$/.test(text)) {
    throw new TypeError('expected scopes with single spaces between them')
  }
  return text
}

export function parseSealingKeyText(text: string): string {
  const key = text.trim()
  if (decodeBase64url(key)?.length !== 32)
    throw new TypeError('expected 32 bytes as base64url, 43 characters')
  return key
}

/** Parses a path that is the same wherever a client starts the bridge. */
export function parseAbsolutePath(text: string): string {
  if (!isAbsolute(text)) throw new TypeError('expected an absolute path')
  return text
}

/** Parses an issuer identifier (RFC 8414 section 2). Keeps its spelling: identifiers are compared literally. */
export function parseIssuer(text: string): string {
  const url = webUrl(text)
  if (url && url.search === '' && url.hash === '') return text
  throw new TypeError('expected the URL of an issuer, such as https://login.example.com')
}

/** Parses the URL of a client ID metadata document: https, with a path, without fragment and dot segments (CIMD section 3). */
export function parseDocumentUrl(text: string): string {
  const url = webUrl(text)
  if (url?.protocol !== 'https:' || url.pathname === '/' || url.hash !== '' || url.href !== text) {
    throw new TypeError('expected an https URL with a path and no fragment')
  }
  return text
}

/** Parses a `resource` indicator: an absolute URI without fragment (RFC 8707 section 2). Keeps its spelling. */
export function parseResource(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\S+$/i.test(text) || !isUrl(text) || text.includes('#')) {
    throw new TypeError('expected an absolute URI without fragment')
  }
  return text
}

/** Parses the address of a proxy: host, port and user. The scheme defaults to http. */
export function parseProxy(text: string): string {
  if (text === 'off') return text
  const given = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`
  // As in curl, which takes DOMAIN\user; a URL would end its host at the backslash.
  const url = webUrl(
    given.replace(/^[^/]*\/\/[^/?#]*@/, (start) => start.replaceAll(/[\\ ]/g, encodeURIComponent)),
  )
  if (!url || url.hostname === '' || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    const encoded = text.includes('@') ? '; in a user name or password, write # / ? as %23 %2F %3F' : ''
    throw new TypeError(
      `expected the address of an HTTP proxy, such as http://proxy.example.com:3128, or off${encoded}`,
    )
  }
  return url.href
}

/** Parses an additional parameter of the authorization request. Rejects parameters of the protocol itself. */
export function parseAuthorizeParameter(text: string): readonly [name: string, value: string] {
  const [, name = '', value = ''] = /^([^=\s]+)=(.*)$/s.exec(text) ?? []
  if (name === '') throw new TypeError('expected name=value')
  if (protocolParameters.has(name))
    throw new TypeError(`expected another parameter than ${name}, which is sent anyway`)
  return [name, value]
}

// Overriding them would break the protection of the sign-in.
const protocolParameters = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'redirect_uri',
  'response_type',
  'state',
])

/** A header with its expanded value. */
export type HeaderEntry = readonly [name: string, value: string]

/** Parses a redirect URI on this machine, `http://HOST[:PORT]/PATH` (RFC 8252 section 7.3). */
export function parseCallback(text: string) {
  const match = /^http:\/\/(\[[0-9a-fA-F:]+\]|[^/:?#\s]+)(?::(\d{1,5}))?(\/[^?#\s]*)$/.exec(text)
  const [, host = '', port, path = ''] = match ?? []
  if (!match || !isLoopbackHostname(host)) {
    throw new TypeError('expected a URL of this machine with a path, such as http://localhost:3118/callback')
  }
  return { host: parseCallbackHost(host), port: port === undefined ? undefined : parsePort(port), path }
}

export function parseCallbackHost(text: string): string {
  if (!isLoopbackHostname(text)) throw new TypeError('expected localhost, 127.0.0.1 or ::1')
  return text.replaceAll(/[[\]]/g, '')
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new TypeError('expected a port from 1 to 65535')
  return port
}
