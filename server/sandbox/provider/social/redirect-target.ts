import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

interface RedirectRule {
  siteUrl: string
  redirectAllowList: readonly string[]
}

/** Chooses where a sign-in ends: the requested URL if it is allowed, else, silently as in the real API, the site. */
export function chooseRedirectTarget(rule: RedirectRule, wanted: string): string {
  return isAllowed(rule, wanted) ? wanted : rule.siteUrl
}

function isAllowed({ siteUrl, redirectAllowList }: RedirectRule, url: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are refused
  if (/[\u0000-\u0020\u007f]/.test(url) || !isUrl(url)) return false
  if (redirectAllowList.includes(url.split('#', 1)[0] ?? '')) return true
  const target = new URL(url)
  const site = new URL(siteUrl)
  const isLoopback = isLoopbackHostname(target.hostname)
  const isSameHost = target.protocol === site.protocol && target.hostname === site.hostname
  // RFC 8252 section 7.3: a native app listens on any free port of a loopback address, which localhost, a name, is not.
  if (isSameHost) return target.port === site.port || isLoopback
  return isLoopback && target.hostname !== 'localhost'
}
