import { type Context, Hono } from 'hono'
import { AuthError } from '../auth-error.ts'
import type { AuthServices } from '../auth-services.ts'
import { type Person, signInByProfile } from '../accounts/account.ts'
import type { SocialFlow } from '../social/social-flow.ts'
import { company, type StandIn } from '../social/stand-in.ts'
import { readJsonBody, text } from './json-body.ts'

/** The provider of the company's accounts, as user objects name it. */
export const ssoProvider: string = `sso:${company.id}`

/**
 * Creates the routes of a sign-in with another service, relative to the auth base URL: social, or single sign-on by SAML, whose
 * stand-in redirects where SAML posts a form.
 */
export function createSocialApi(
  services: AuthServices,
  standIn: Record<'google' | 'company', StandIn>,
): Hono {
  const { accounts, config, flows } = services
  const api = new Hono()

  api.get('/authorize', (c) => {
    const { provider = '', redirect_to: redirectTo = '', scopes, ...query } = c.req.query()
    if (!services.socialProviders.includes(provider)) {
      throw new AuthError(400, 'validation_failed', 'Unsupported provider: provider is not enabled')
    }
    const isHashed = query['code_challenge_method']?.toLowerCase() === 's256'
    const codeChallenge = isHashed ? (query['code_challenge'] ?? '') : ''
    const { state } = flows.start({ provider, redirectTo, codeChallenge, scopes })
    return c.redirect(standIn.google.authorizationUrl(state))
  })
  api.get('/callback', (c) => {
    const { state = '', code = '', error } = c.req.query()
    const flow = flows.find(state)
    return redirect(c, flow?.redirectTo ?? config.siteUrl, () => {
      if (!flow) throw new AuthError(400, 'bad_oauth_state', 'OAuth state is invalid')
      if (error !== undefined) throw new AuthError(403, error, 'The sign-in was cancelled')
      refuseScopes(flow)
      return finish(flow, standIn.google.person(code))
    })
  })
  api.post('/sso', async (c) => {
    const shape = { domain: text, redirect_to: text, code_challenge: text }
    const body = await readJsonBody(c.req.raw, shape)
    if (body.domain !== company.domain) {
      throw new AuthError(404, 'sso_provider_not_found', 'No SSO provider assigned for this domain')
    }
    const { redirect_to: redirectTo, code_challenge: codeChallenge } = body
    const { state } = flows.start({ provider: ssoProvider, redirectTo, codeChallenge })
    return c.json({ url: standIn.company.authorizationUrl(state) })
  })
  api.get('/sso/saml/acs', (c) => {
    const { state = '', code = '' } = c.req.query()
    // As in the real API, errors go to the site, also when a `redirect_to` is known.
    return redirect(c, config.siteUrl, () => {
      const flow = flows.find(state)
      if (flow?.provider === ssoProvider) return finish(flow, standIn.company.person(code))
      throw new AuthError(404, 'saml_relay_state_not_found', 'SAML RelayState does not exist')
    })
  })
  return api

  /** Signs the person in, and returns where the browser continues. */
  function finish(flow: SocialFlow, person: Person | undefined): string {
    flows.refuseExpired(flow)
    if (!person) throw new AuthError(400, 'validation_failed', 'The answer of the sign-in service is invalid')
    const { id } = signInByProfile(accounts, flow.provider, person)
    return flows.complete(flow, id)
  }
}

/** As with the real ones: Keycloak's userinfo wants `openid`, and Azure names no address without `email`. */
function refuseScopes({ provider, scopes = '' }: SocialFlow): void {
  const asked = scopes.split(/[ ,]+/)
  if (provider === 'keycloak' && !asked.includes('openid')) {
    throw new AuthError(500, 'unexpected_failure', 'Error getting user profile from external provider')
  }
  if (provider === 'azure' && !asked.includes('email')) {
    throw new AuthError(500, 'unexpected_failure', 'Error getting user email from external provider')
  }
}

/** Maps a status to `error`, if that is not `server_error`. */
const oauthErrors = new Map([
  [400, 'invalid_request'],
  [403, 'access_denied'],
])

/**
 * Sends the browser to the URL that `next` returns, or to `target` with its error: in the query for servers and in the fragment for
 * scripts, where `sb` marks its author.
 */
export function redirect(c: Context, target: string, next: () => string): Response {
  try {
    return c.redirect(next(), 303)
  } catch (error) {
    if (!(error instanceof AuthError)) throw error
    const url = new URL(target)
    const parameters = new URLSearchParams({
      error: oauthErrors.get(error.status) ?? 'server_error',
      error_code: error.code,
      error_description: error.message,
    })
    for (const [name, value] of parameters) url.searchParams.set(name, value)
    url.hash = `${parameters.toString()}&sb=`
    return c.redirect(url.href, 303)
  }
}
