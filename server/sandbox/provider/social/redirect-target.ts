const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** The auth API's rule for a `redirect_to`. */
export interface RedirectRule {
  siteUrl: string
  /** Accepted besides the site's own; a fragment does not count. */
  allowList: readonly string[]
}

/**
 * Chooses where a social sign-in ends: the requested URL if it is allowed, else the Referer if that is allowed, else the site. A
 * URL that is not allowed is replaced silently, as in the real API.
 */
export function chooseRedirectTarget(
  rule: RedirectRule,
  wanted: string | undefined,
  referer: string | undefined,
): string {
  return [wanted, referer].find((url) => url !== undefined && isAllowed(rule, url)) ?? rule.siteUrl
}

function isAllowed({ siteUrl, allowList }: RedirectRule, url: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (/[\u0000-\u0020\u007f]/.test(url) || !URL.canParse(url)) return false
  if (allowList.includes(url.split('#', 1)[0] ?? '')) return true
  const target = new URL(url)
  const site = new URL(siteUrl)
  const isLoopback = loopback.test(target.hostname)
  const isSameHost = target.protocol === site.protocol && target.hostname === site.hostname
  // RFC 8252 section 7.3: a native app listens on any free port of a loopback address, which localhost, a name, is not.
  if (isSameHost) return target.port === site.port || isLoopback
  return isLoopback && target.hostname !== 'localhost'
}
