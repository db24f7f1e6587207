import { isIP } from 'node:net'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { SealingKey } from '../core/seal.ts'
import type { Captcha } from '../core/session/session-provider.ts'

/** Turns the text of a setting into its value; throws a `TypeError` whose message says what is expected. */
export type ValueParser<Value> = (text: string) => Value

/** Absolute http(s) URL without query, fragment, credentials or trailing slash; https unless the host is loopback. */
export function parseBaseUrl(text: string): string {
  if (!URL.canParse(text)) throw new TypeError('expected an absolute URL, such as https://mcp.example.com')
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHostname(url.hostname))) {
    throw new TypeError('expected an https URL; http is for localhost and loopback addresses only')
  }
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new TypeError('expected a URL without query, fragment, user or password')
  }
  // Not href: it keeps the mark of an empty query or fragment.
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

/** {@link parseBaseUrl} for this server's own URL: its path is part of every route, where `*`, `|` and `:name` would be patterns. */
export function parseOwnBaseUrl(text: string): string {
  const url = parseBaseUrl(text)
  if (/[*|]|\/:/.test(new URL(url).pathname)) {
    throw new TypeError('expected a path without "*", "|" and segments that begin with ":"')
  }
  return url
}

/** A cookie name: a token as HTTP has it, brackets allowed because a default name may hold an IPv6 address. */
export function parseCookieName(text: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z:[\]-]{1,200}$/.test(text)) {
    throw new TypeError('expected a cookie name, such as sb-myproject-auth-token')
  }
  return text
}

/** Where to listen. IPv6 hosts are written in brackets. */
export interface ListenAddress {
  host: string
  port: number
}

/** `host:port`, or a port alone for 127.0.0.1. */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:(\[[0-9a-fA-F:]+\]|[^:[\]\s]+):)?(\d{1,5})$/.exec(text)
  const port = Number(match?.[2])
  if (!match || port > 65_535) throw new TypeError('expected host:port, such as 127.0.0.1:8787')
  return { host: (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port }
}

/** As {@link parseListenAddress}; undefined for `off`. */
export function parseListenAddressOrOff(text: string): ListenAddress | undefined {
  return text === 'off' ? undefined : parseListenAddress(text)
}

/** IP addresses and CIDR ranges, comma-separated. */
export function parseAddressRanges(text: string): string[] {
  return parseList(text).map((range) => {
    const [address = '', bits, ...more] = range.split('/')
    const longest = { 4: 32, 6: 128 }[isIP(address)] ?? -1
    if (more.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || Number(bits ?? 0) > longest) {
      throw new TypeError(`expected addresses or ranges such as 10.0.0.0/8, not ${JSON.stringify(range)}`)
    }
    return range
  })
}

/** Hosts as the `Host` header has them, comma-separated, with a port unless it is the one of the scheme. */
export function parseHostsWithPort(text: string): string[] {
  return parseList(text.toLowerCase()).map((host) => {
    const url = `https://${host}`
    // A default port is dropped by the parser, and no header has it either.
    if (!URL.canParse(url) || new URL(url).host !== host) {
      throw new TypeError(`expected hosts such as mcp.internal:8787, not ${JSON.stringify(host)}`)
    }
    return host
  })
}

/** Host names in lower case, comma-separated, each perhaps with `!`, `*.` or both in front. No port. */
export function parseHosts(text: string): string[] {
  return parseList(text.toLowerCase()).map((host) => {
    const name = /^!?(?:\*\.)?([a-z0-9.-]{1,253})$/.exec(host)?.[1]
    if (name === undefined || !URL.canParse(`https://${name}`)) {
      throw new TypeError(
        `expected hosts such as claude.ai, *.example.com or !evil.example, not ${JSON.stringify(host)}`,
      )
    }
    return host
  })
}

const secondsPerUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** A positive whole number of seconds, or of the unit behind it: `90`, `90s`, `15m`, `1h`, `30d`. */
export function parseDuration(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text)
  const seconds = Number(match?.[1]) * (secondsPerUnit[match?.[2] ?? ''] ?? 1)
  if (!match || seconds < 1 || seconds > 3650 * 86_400) {
    throw new TypeError('expected seconds, or a number with a unit, such as 90, 15m, 1h or 30d')
  }
  return seconds
}

/** `on` or `off`. */
export function parseSwitch(text: string): boolean {
  if (text === 'on') return true
  if (text === 'off') return false
  throw new TypeError('expected on or off')
}

/** Comma-separated values; blanks around them are dropped. */
export function parseList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
}

/** Comma-separated web origins, such as `https://app.example.com`. No wildcards: a URL may hold `*`, no origin matches it. */
export function parseOrigins(text: string): string[] {
  return parseList(text).map((origin) => {
    const exact = URL.canParse(origin) && new URL(origin).origin === origin.replace(/\/$/, '').toLowerCase()
    if (!exact || origin.includes('*')) {
      throw new TypeError(`expected origins such as https://app.example.com, not ${JSON.stringify(origin)}`)
    }
    return new URL(origin).origin
  })
}

/** One of `values`. */
export function oneOf<Value extends string>(...values: readonly Value[]): ValueParser<Value> {
  return (text) => {
    const found = values.find((value) => value === text)
    if (!found) throw new TypeError(`expected ${values.join(' or ')}`)
    return found
  }
}

/** Which store driver, and where. A Postgres URL may hold a password: never show it whole. */
export type StoreAddress =
  | { kind: 'memory' }
  | { kind: 'sqlite'; path: string }
  | { kind: 'postgres'; url: string }

/** `memory:`, `sqlite:PATH` or a `postgres:` URL. */
export function parseStore(text: string): StoreAddress {
  if (text === 'memory:') return { kind: 'memory' }
  if (/^postgres(?:ql)?:\/\/./.test(text) && URL.canParse(text)) return { kind: 'postgres', url: text }
  const path = /^sqlite:(.+)$/.exec(text)?.[1]
  if (path === undefined) throw new TypeError('expected sqlite:PATH, postgres://HOST/DATABASE or memory:')
  return { kind: 'sqlite', path }
}

/** The text form of a store's address, without user and password. */
export function storeName(store: StoreAddress): string {
  switch (store.kind) {
    case 'memory':
      return 'memory:'
    case 'sqlite':
      return `sqlite:${store.path}`
    case 'postgres': {
      const { host, pathname } = new URL(store.url)
      return `postgres://${host}${pathname}`
    }
  }
}

/** Any text but an empty one. */
export function parseText(text: string): string {
  if (text.trim() === '') throw new TypeError('expected a text')
  return text
}

/** A text that can stand in an HTTP header as it is: a line end copied along with a key is found here, not at the first call. */
export function parseHeaderValue(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new TypeError('expected a key without blanks and line ends')
  return text
}

/** A positive whole number. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new TypeError('expected a whole number of at least 1')
  return Number(text)
}

/** As {@link parseDuration}; undefined for `off`. */
export function parseDurationOrOff(text: string): number | undefined {
  return text === 'off' ? undefined : parseDuration(text)
}

/** `hcaptcha:SITE_KEY` or `turnstile:SITE_KEY`. */
export function parseCaptcha(text: string): Captcha {
  const match = /^(hcaptcha|turnstile):([\w.-]{1,200})$/.exec(text)
  if (!match) throw new TypeError('expected hcaptcha:SITE_KEY or turnstile:SITE_KEY')
  return { kind: match[1] as Captcha['kind'], siteKey: match[2] ?? '' }
}

// What this server sends itself: overridden, it would break the sign-in.
const ownParameters = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
])

/** `name=value` pairs as in a query. */
export function parseParameters(text: string): Record<string, string> {
  const pairs = [...new URLSearchParams(text)]
  const own = pairs.find(([name]) => ownParameters.has(name))
  if (own) throw new TypeError(`expected parameters other than ${own[0]}, which is sent anyway`)
  if (pairs.length === 0 || pairs.some(([name, value]) => name === '' || value === '')) {
    throw new TypeError('expected name=value pairs, such as access_type=offline&prompt=consent')
  }
  return Object.fromEntries(pairs)
}

/** Where the key ring comes from. */
export type SecretKeySource = { kind: 'ring'; keys: readonly SealingKey[] } | { kind: 'file'; path: string }

/** The ring itself as {@link parseSecretKeys}, or `file:PATH` of a file that holds it. */
export function parseSecretKeySource(text: string): SecretKeySource {
  const path = /^file:(.+)$/.exec(text)?.[1]
  return path === undefined ? { kind: 'ring', keys: parseSecretKeys(text) } : { kind: 'file', path }
}

/** `kid:base64,...`: names of letters, digits, `-` and `_`, each with 32 bytes; the first one seals. */
export function parseSecretKeys(text: string): SealingKey[] {
  const ring = parseList(text).map((entry) => {
    const match = /^([A-Za-z0-9_-]{1,64}):([A-Za-z0-9+/_-]+={0,2})$/.exec(entry)
    const key = match ? new Uint8Array(Buffer.from(match[2] ?? '', 'base64')) : undefined
    if (!match || key?.length !== 32) throw new TypeError('expected kid:base64 with 32 bytes for each key')
    return { kid: match[1] ?? '', key }
  })
  if (ring.length === 0 || new Set(ring.map(({ kid }) => kid)).size !== ring.length) {
    throw new TypeError('expected at least one key, each with its own kid')
  }
  return ring
}
