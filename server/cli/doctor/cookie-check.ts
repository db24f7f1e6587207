import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { type Finding, note, ok, warn } from '@drawbridge/shared/terminal/finding.ts'

type CookieConfig = Pick<ServerConfig, 'baseUrl' | 'appUrl' | 'cookieName' | 'providerUrl'>

/** Whether a browser sends the session cookie of the web app to `/mcp`. Ports do not matter to cookies. */
export function checkCookieReach({ baseUrl, appUrl, cookieName }: CookieConfig): Finding {
  const name = 'cookie-reach'
  const [server, app] = [new URL(baseUrl).hostname, new URL(appUrl).hostname]
  if (server === app)
    return ok(name, `Web app and server are on ${server}: browsers send the session cookie.`)
  const domain = commonDomain(server, app)
  if (domain === undefined) {
    return warn(
      name,
      `Browsers do not send cookies of ${app} to ${server}: the two have no domain in common. Calls with the cookie cannot work; tokens do.`,
      'Give both a name below one domain, such as app.example.com and mcp.example.com, if pages are to call /mcp.',
    )
  }
  if (cookieName.startsWith('__Host-')) {
    return warn(
      name,
      `A cookie named ${cookieName} never leaves ${app}. Calls with the cookie cannot work; tokens do.`,
      'Choose a name without __Host- in the web app, if pages are to call /mcp.',
    )
  }
  return note(
    name,
    `Browsers send cookies of ${app} to ${server} only when they are set for their common domain.`,
    `Set cookieOptions: { domain: '${domain}' } in the web app, if pages are to call /mcp. Every host below ${domain} then gets the cookie.`,
  )
}

// Names below these belong to different people. A whole public suffix list would say little more to those who read this.
const sharedDomains = new Set([
  'azurewebsites.net',
  'cloudfront.net',
  'fly.dev',
  'github.io',
  'herokuapp.com',
  'netlify.app',
  'onrender.com',
  'pages.dev',
  'supabase.co',
  'vercel.app',
  'web.app',
  'workers.dev',
])

/** The longest domain that both hosts are in and that a cookie may be set for. */
function commonDomain(a: string, b: string): string | undefined {
  const isAddress = [a, b].some((host) => /^[\d.]+$/.test(host) || host.startsWith('['))
  if (isAddress) return undefined
  const [labels, others] = [a.split('.').toReversed(), b.split('.').toReversed()]
  const end = labels.findIndex((label, index) => label !== others[index])
  const common = labels.slice(0, end === -1 ? labels.length : end).toReversed()
  const domain = common.join('.')
  // As in co.uk and com.au.
  const isSuffix = common.length === 2 && /^(?:[a-z]{2,3}\.[a-z]{2})$/.test(domain)
  return common.length < 2 || isSuffix || sharedDomains.has(domain) ? undefined : domain
}

/** Whether the cookie is looked for under the name that the client libraries give it. */
export function checkCookieName({
  cookieName,
  provider,
  providerUrl,
}: CookieConfig & Pick<ServerConfig, 'provider'>): Finding {
  const name = 'cookie-name'
  const usual = defaultSessionCookieName(providerUrl)
  const { hostname } = new URL(providerUrl)
  if (cookieName !== usual) {
    return warn(
      name,
      `The session cookie is looked for as ${cookieName}; for ${hostname} the client libraries call it ${usual}.`,
      `Set cookieOptions: { name: '${cookieName}' } in the web app, or take DRAWBRIDGE_COOKIE_NAME out.`,
    )
  }
  // A project with a domain of its own can still be called by its first name.
  const isCertain = provider === 'embedded' || hostname.endsWith('.supabase.co')
  const proviso = isCertain ? '' : `, right if the web app calls the provider ${hostname} too`
  return ok(name, `The session cookie is looked for as ${cookieName}${proviso}.`)
}
