import { isUrl } from '../url.ts'

/** Reasons for refusing a redirect URI at registration. */
export type RedirectUriRefusal =
  | 'too-long'
  | 'forbidden-character'
  | 'not-absolute'
  | 'fragment'
  | 'user-information'
  | 'dangerous-scheme'
  | 'insecure-http'
  | 'private-use-scheme'

const maxLength = 2048

// Schemes that run script, read local files or never reach an app. Refused even when an operator lists them.
const dangerousSchemes = new Set([
  'about',
  'blob',
  'chrome',
  'chrome-extension',
  'data',
  'file',
  'filesystem',
  'ftp',
  'intent',
  'jar',
  'javascript',
  'mailto',
  'moz-extension',
  'ms-its',
  'resource',
  'vbscript',
  'view-source',
  'ws',
  'wss',
])

/**
 * Returns whether a host name always means this machine: `localhost`, 127.0.0.0/8 and `::1`, with or without brackets
 * (RFC 8252 sections 7.3 and 8.3). Compares text only: `2130706433` and `localhost.` do not count as loopback names.
 */
export function isLoopbackHostname(hostname: string): boolean {
  const name = hostname.toLowerCase()
  if (name === 'localhost' || name === '::1' || name === '[::1]') return true
  return /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/.test(name)
}

/**
 * Returns why a client may not register a redirect URI, or undefined when it may (RFC 6749 section 3.1.2, OAuth 2.1 section 2.3, RFC 8252
 * sections 7.1 to 7.3): absolute, at most 2048 characters, no fragment, no user information, and https anywhere, http
 * on a loopback host, or a private-use URI identical to an entry of `privateUse`. Refuses characters outside RFC 3986
 * (control, white space, backslash, quotes, non-ASCII), because browsers and servers disagree about them. Does not
 * check who owns the host.
 */
export function redirectUriRefusal(
  text: string,
  privateUse: readonly string[],
): RedirectUriRefusal | undefined {
  if (text.length > maxLength) return 'too-long'
  if (!/^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]*$/.test(text)) return 'forbidden-character'
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1]?.toLowerCase()
  if (scheme === undefined || !isUrl(text)) return 'not-absolute'
  if (dangerousSchemes.has(scheme)) return 'dangerous-scheme'
  if (text.includes('#')) return 'fragment'
  if (/^[^:]+:\/\/[^/?]*@/.test(text)) return 'user-information'
  if (/^https?$/.test(scheme)) return webRefusal(text)
  return privateUse.includes(text) ? undefined : 'private-use-scheme'
}

function webRefusal(text: string): RedirectUriRefusal | undefined {
  // A URL parser repairs `https:host` and `https:///host`, and reads `2130706433` and `%6cocalhost` as loopback.
  // Other software does not, so the host is compared as written.
  const [, scheme, host] = /^(https?):\/\/(\[[^\]]*\]|[^/?:]+)/i.exec(text) ?? []
  if (scheme === undefined || host === undefined) return 'not-absolute'
  return scheme.toLowerCase() === 'https' || isLoopbackHostname(host) ? undefined : 'insecure-http'
}

/**
 * Returns whether a `redirect_uri` matches a registered one byte for byte (OAuth 2.1 section 2.3.1), ignoring only
 * the port of http on a loopback host, because native clients use any free port (RFC 8252 section 7.3). Host, path
 * and query stay exact; `localhost` and `127.0.0.1` are different hosts. Compares text, so that no URL parser can
 * make two different URIs equal.
 */
export function matchRedirectUri(registered: readonly string[], presented: string): boolean {
  if (registered.includes(presented)) return true
  const portless = withoutLoopbackPort(presented)
  return portless !== undefined && registered.some((uri) => withoutLoopbackPort(uri) === portless)
}

/**
 * Returns the destination shown on a consent page: `host` or `host:port` in ASCII form (so that a look-alike
 * international name is visible), or `scheme:` for a private-use URI. Empty if the text is not a URL.
 */
export function redirectHost(uri: string): string {
  if (!isUrl(uri)) return ''
  const url = new URL(uri)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.host : url.protocol
}

function withoutLoopbackPort(uri: string): string | undefined {
  const [, host = '', port = '', rest = ''] =
    /^http:\/\/(\[::1\]|[^/?#:@[\]\\]+)(?::(\d{1,5}))?([/?].*)?$/s.exec(uri) ?? []
  return isLoopbackHostname(host) && Number(port) <= 65_535 ? `${host}${rest}` : undefined
}
