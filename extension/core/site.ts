/** Whether a token may be sent there: https, or http that does not leave this computer. */
export function isSafeForTokens(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: '', hostname: '' }
  const isLoopback = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback)
}

/** Whether a page of the web is meant, and not one of the browser, a file or an extension. */
export function isWebPage(url: string | undefined): url is string {
  return /^https?:$/.test(URL.parse(url ?? '')?.protocol ?? '')
}

/** Host with port, as people know a site. Empty if the text is no URL. */
export function hostOf(url: string | undefined): string {
  return URL.parse(url ?? '')?.host ?? ''
}

/**
 * The patterns that stand for the site of a page in the browser's permissions: both schemes and the host without port,
 * which they cannot hold. Chromium shows a cookie only to whoever may read the scheme that it belongs to, and that is https
 * for `Secure` ones and http for all others, whatever the scheme of the page; the person is asked for the host either way.
 * Empty when the text is no page of the web.
 */
export function originPatterns(url: string | undefined): string[] {
  if (!isWebPage(url)) return []
  const { hostname } = new URL(url)
  return [`https://${hostname}/*`, `http://${hostname}/*`]
}
