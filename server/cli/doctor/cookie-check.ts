import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import { type Checks, note, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import { providers } from '../../config/provider.ts'
import type { ServerConfig } from '../../config/setting-table.ts'

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
    if (cookieName.startsWith('__Host-') || !haveCommonDomain(server, app)) {
      return warn(
        `Browsers do not send the cookie ${cookieName} of ${app} to ${server}. Calls with the cookie cannot work; tokens do.`,
        'Give both a name below one domain, such as app.example.com and mcp.example.com, and the cookie a name without __Host-, if pages are to call /mcp.',
      )
    }
    return note(
      `Browsers send cookies of ${app} to ${server} only when they are set for a domain of both.`,
      "Set cookieOptions: { domain: '...' } in the web app, if pages are to call /mcp. Every host below that domain then gets the cookie; browsers refuse one that many people share, such as vercel.app.",
    )
  },
}

function haveCommonDomain(a: string, b: string): boolean {
  const isAddress = [a, b].some((host) => /^[\d.]+$|^\[/.test(host))
  const lastTwo = (host: string): string => host.split('.').slice(-2).join('.')
  return !isAddress && lastTwo(a) === lastTwo(b)
}
