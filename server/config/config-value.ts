import { isIP } from 'node:net'
import type { ValueParser } from '@drawbridge/shared/settings/setting.ts'
import { durationParser, isSecureUrl, parseList, parseSwitch } from '@drawbridge/shared/settings/value.ts'
import type { Rate } from '../core/limits/rate-limit.ts'
import type { Captcha } from '../core/session/session-provider.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** Absolute http(s) URL without query, fragment, credentials or trailing slash; https unless the host is loopback. */
export function parseBaseUrl(text: string): string {
  if (!isUrl(text)) throw new TypeError('expected an absolute URL, such as https://mcp.example.com')
  const url = new URL(text)
  if (!isSecureUrl(url)) {
    throw new TypeError('expected an https URL; http is for localhost and loopback addresses only')
  }
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new TypeError('expected a URL without query, fragment, user or password')
  }
  // href would keep the `?` or `#` of an empty query or fragment.
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

/** A page for people, such as a privacy policy. */
export function parsePageUrl(text: string): string {
  const url = isUrl(text) ? new URL(text) : undefined
  if (!url || !isSecureUrl(url) || url.username !== '' || url.password !== '') {
    throw new TypeError('expected an https URL, such as https://example.com/privacy')
  }
  return url.href
}

/** Prints a secret, in any shell of any system. */
export const secretCommand = `node -p "crypto.randomBytes(32).toString('base64')"`

/** A secret that signs with HS256, whose key is the UTF-8 bytes of the text (RFC 7518 section 3.2). */
export function parseSharedSecret(text: string): string {
  const secret = text.trim()
  if (Buffer.byteLength(secret) < 32) {
    throw new TypeError(`expected at least 32 bytes, such as the output of ${secretCommand}`)
  }
  return secret
}

/** A cookie name: an HTTP token, with brackets because a default name may contain an IPv6 address. */
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

/** A port alone, on every IPv4 address: what platforms put into PORT. */
export function parsePort(text: string): ListenAddress {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw new TypeError('expected a port, from 1 to 65535')
  return { host: '0.0.0.0', port }
}

/** Positive whole seconds: `90`, `90s`, `15m`, `1h`, `30d`. */
export const parseDuration: ValueParser<number> = durationParser({
  unitMs: 1000,
  max: '3650d',
  examples: '90, 15m, 1h or 30d',
})

/** Accepts also `off`, which is undefined. */
export function orOff<Value>(parse: ValueParser<Value>): ValueParser<Value | undefined> {
  return (text) => (text === 'off' ? undefined : parse(text))
}

/**
 * Where no address is on the internet: private (RFC 1918, RFC 4193), shared (RFC 6598), link-local and loopback ones. Proxies of
 * platforms connect from any of them.
 */
const privateRanges =
  '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 169.254.0.0/16 127.0.0.0/8 fc00::/7 fe80::/10 ::1'.split(
    ' ',
  )

/** IP addresses and CIDR ranges, comma-separated; `private` stands for every range that is not on the internet. */
export function parseAddressRanges(text: string): string[] {
  return parseList(text).flatMap((range) => {
    if (range === 'private') return privateRanges
    const [address = '', bits, ...more] = range.split('/')
    const maxBits = { 4: 32, 6: 128 }[isIP(address)] ?? -1
    if (more.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || Number(bits ?? 0) > maxBits) {
      throw new TypeError(
        `expected private, addresses or ranges such as 10.0.0.0/8, not ${JSON.stringify(range)}`,
      )
    }
    return range
  })
}

/**
 * A switch, or host names, comma-separated, each perhaps with `!`, `*.` or both in front. No port. Undefined: off; the names in lower
 * case, none of them for every host.
 */
export function parseDocumentHosts(text: string): string[] | undefined {
  if (/^(?:on|true|1|off|false|0)$/i.test(text)) return parseSwitch(text) ? [] : undefined
  return parseList(text.toLowerCase()).map((host) => {
    const name = /^!?(?:\*\.)?([a-z0-9.-]{1,253})$/.exec(host)?.[1]
    if (name === undefined || !isUrl(`https://${name}`)) {
      throw new TypeError(
        `expected on, off, or hosts such as claude.ai, *.example.com or !evil.example, not ${JSON.stringify(host)}`,
      )
    }
    return host
  })
}

/** Comma-separated web origins, such as `https://app.example.com`. A `*` is refused, because it would match no origin. */
export function parseOrigins(text: string): string[] {
  return parseList(text).map((origin) => {
    const exact = isUrl(origin) && new URL(origin).origin === origin.replace(/\/$/, '').toLowerCase()
    if (!exact || origin.includes('*')) {
      throw new TypeError(`expected origins such as https://app.example.com, not ${JSON.stringify(origin)}`)
    }
    return new URL(origin).origin
  })
}

/** A positive whole number. */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new TypeError('expected a whole number of at least 1')
  return Number(text)
}

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 }

/** Such as `600/m`: so many at once, which come back within that time. */
export function parseRate(text: string): Rate {
  const [, count = '', unit = ''] = /^([1-9]\d{0,8})\/([smh])$/.exec(text) ?? []
  const seconds = secondsOf[unit]
  if (seconds === undefined)
    throw new TypeError('expected a number and a time, such as 10/s, 600/m or 5000/h')
  return { burst: Number(count), perSecond: Number(count) / seconds }
}

/** `hcaptcha:SITE_KEY` or `turnstile:SITE_KEY`. */
export function parseCaptcha(text: string): Captcha {
  const match = /^(hcaptcha|turnstile):([\w.-]{1,200})$/.exec(text)
  if (!match) throw new TypeError('expected hcaptcha:SITE_KEY or turnstile:SITE_KEY')
  return { kind: match[1] as Captcha['kind'], siteKey: match[2] ?? '' }
}

/** A social sign-in method to offer. `scopes` are asked for instead of those it needs by default. */
export interface SocialChoice {
  id: string
  scopes: string | undefined
}

/** Names of social sign-in methods, comma-separated, each with `=SCOPE SCOPE` if it needs other scopes than by default. */
export function parseSocial(text: string): readonly SocialChoice[] {
  return parseList(text).map((entry) => {
    const match = /^([^\s=]+)(?:\s*=\s*([\w.:/-]+(?: +[\w.:/-]+)*))?$/.exec(entry)
    if (!match) throw new TypeError('expected names, each alone or as NAME=SCOPE SCOPE, separated by commas')
    return { id: match[1] ?? '', scopes: match[2]?.replaceAll(/ +/g, ' ') }
  })
}

// The server sends these itself.
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
