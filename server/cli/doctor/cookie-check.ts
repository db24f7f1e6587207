import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import { providers } from '../../config/provider.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { type Checks, note, ok, warn } from '@drawbridge/shared/terminal/check.ts'

/** Checks the name of the web app's session cookie, and whether browsers send it to `/mcp`. Cookies ignore ports. */
export const cookieChecks: Checks<
  Pick<ServerConfig, 'baseUrl' | 'appUrl' | 'cookieName' | 'provider' | 'providerUrl'>
> = {
  'cookie-name'({ cookieName, provider, providerUrl }) {
    const usual = defaultSessionCookieName(providerUrl)
    const { hostname } = new URL(providerUrl)
    if (cookieName !== usual) {
      return warn(
        `The session cookie is looked for as ${cookieName}; for ${hostname} the client libraries call it ${usual}.`,
        `Set cookieOptions: { name: '${cookieName}' } in the web app, or take DRAWBRIDGE_COOKIE_NAME out.`,
      )
    }
    // A project with a domain of its own can still be called by its first name.
    const isCertain = providers[provider].isTrial || hostname.endsWith('.supabase.co')
    const proviso = isCertain ? '' : `, right if the web app calls the provider ${hostname} too`
    return ok(`The session cookie is looked for as ${cookieName}${proviso}.`)
  },
  'cookie-reach'({ baseUrl, appUrl, cookieName }) {
    const [server, app] = [new URL(baseUrl).hostname, new URL(appUrl).hostname]
    if (server === app) return ok(`Web app and server are on ${server}: browsers send the session cookie.`)
    const domain = commonDomain(server, app)
    if (domain === undefined) {
      return warn(
        `Browsers do not send cookies of ${app} to ${server}: the two have no domain in common. Calls with the cookie cannot work; tokens do.`,
        'Give both a name below one domain, such as app.example.com and mcp.example.com, if pages are to call /mcp.',
      )
    }
    if (cookieName.startsWith('__Host-')) {
      return warn(
        `A cookie named ${cookieName} never leaves ${app}. Calls with the cookie cannot work; tokens do.`,
        'Choose a name without __Host- in the web app, if pages are to call /mcp.',
      )
    }
    return note(
      `Browsers send cookies of ${app} to ${server} only when they are set for their common domain.`,
      `Set cookieOptions: { domain: '${domain}' } in the web app, if pages are to call /mcp. Every host below ${domain} then gets the cookie.`,
    )
  },
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

/** Returns the longest domain of both hosts for which a cookie may be set. */
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
