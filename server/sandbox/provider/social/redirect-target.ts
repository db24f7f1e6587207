/** The rule of the auth API for a `redirect_to`. */
export interface RedirectRule {
  siteUrl: string
  /** Exact URLs or globs. */
  allowList: readonly string[]
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/
/** An address in decimal: `URL` reads it as an IP address, and only attackers write it. */
const DECIMAL_HOST = /^[^:]+:\/\/\d+(?:[:/?#]|$)/
const IP_LITERAL = /^(\d{1,3}(\.\d{1,3}){3}|\[.*\])$/

/**
 * Where a social sign-in ends: the wanted URL if it is allowed, else the Referer if that is allowed, else the site.
 * A URL that is not allowed is replaced without a word, as the real API does; the caller never learns.
 */
export function chooseRedirectTarget(
  rule: RedirectRule,
  wanted: string | undefined,
  referer: string | undefined,
): string {
  return [wanted, referer].find((url) => url !== undefined && isAllowed(rule, url)) ?? rule.siteUrl
}

function isAllowed(rule: RedirectRule, url: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (/[\u0000-\u0020\u007f]/.test(url) || DECIMAL_HOST.test(url) || !URL.canParse(url)) return false
  const target = new URL(url)
  const site = new URL(rule.siteUrl)
  const sameSite =
    target.protocol === site.protocol &&
    target.hostname === site.hostname &&
    // RFC 8252 section 7.3: a native app listens on any free port.
    (target.port === site.port || LOOPBACK.test(target.hostname))
  if (sameSite) return true
  if (IP_LITERAL.test(target.hostname)) return LOOPBACK.test(target.hostname)
  const withoutFragment = url.split('#', 1)[0] ?? ''
  return rule.allowList.some((glob) => matchesGlob(glob, withoutFragment))
}

/**
 * Whether a glob matches a whole URL including its query. `*` and `?` stop at `.` and `/`, `**` does not; everything
 * else stands for itself.
 */
export function matchesGlob(glob: string, url: string): boolean {
  const pattern = glob.replaceAll(/\*\*|\*|\?|[\\^$.|+()[\]{}]/g, (mark) => {
    if (mark === '**') return '.*'
    if (mark === '*') return '[^./]*'
    if (mark === '?') return '[^./]'
    return `\\${mark}`
  })
  return new RegExp(`^${pattern}$`, 's').test(url)
}
