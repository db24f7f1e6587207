/** Returns whether a token may be sent to a URL: https, or http within this computer. */
export function isSafeForTokens(url: string): boolean {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: '', hostname: '' }
  const isLoopback = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback)
}

/** Returns whether a URL is a web page rather than one of the browser, a file or an extension. */
export function isWebPage(url: string | undefined): url is string {
  return /^https?:$/.test(URL.parse(url ?? '')?.protocol ?? '')
}

/** Returns the host with its port, as users know a site. Empty if the text is not a URL. */
export function hostOf(url: string | undefined): string {
  return URL.parse(url ?? '')?.host ?? ''
}

/**
 * Returns the permission patterns for the site of a page: both schemes, and the host without port, which patterns
 * cannot contain. Chromium shows a cookie only with permission for its scheme, https for `Secure` cookies and http
 * for all others, independent of the scheme of the page; the prompt names the host either way. Empty when the text is not a
 * web page.
 */
export function originPatterns(url: string | undefined): string[] {
  if (!isWebPage(url)) return []
  const { hostname } = new URL(url)
  return [`https://${hostname}/*`, `http://${hostname}/*`]
}
