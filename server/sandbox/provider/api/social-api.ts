import { isCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { Hono } from 'hono'
import { AuthError } from '../auth-error.ts'
import { type AuthServices, socialProviders } from '../auth-services.ts'
import { signInByProfile } from '../accounts/account.ts'
import { chooseRedirectTarget, type SocialFlow } from '../social/social-flow.ts'
import type { StandIn } from '../social/stand-in.ts'

/** Maps a status to `error`, if that is not `server_error`. */
const oauthErrors = new Map([
  [400, 'invalid_request'],
  [403, 'access_denied'],
])

/** Creates the routes of a social sign-in, relative to the auth base URL: for browsers, so failures are redirects. */
export function createSocialApi(services: AuthServices, google: StandIn): Hono {
  const { accounts, config, flows } = services
  const api = new Hono()

  api.get('/authorize', (c) => {
    const provider = c.req.query('provider') ?? ''
    if (!socialProviders(services).includes(provider)) {
      throw new AuthError(400, 'validation_failed', 'Unsupported provider: provider is not enabled')
    }
    const codeChallenge = c.req.query('code_challenge') ?? ''
    if (!isCodeChallenge(codeChallenge) || c.req.query('code_challenge_method')?.toLowerCase() !== 's256') {
      const message =
        'This provider signs in with PKCE only: send code_challenge and code_challenge_method=s256'
      throw new AuthError(400, 'validation_failed', message)
    }
    const redirectTo = chooseRedirectTarget(config, c.req.query('redirect_to') ?? '')
    const scopes = c.req.query('scopes') ?? ''
    const state = flows.start({ provider, redirectTo, codeChallenge, scopes })
    return c.redirect(google.authorizationUrl(state), 302)
  })

  api.get('/callback', (c) => {
    const parameters = new URL(c.req.url).searchParams
    const flow = flows.find(parameters.get('state') ?? '')
    if (flow === undefined) {
      const error = new AuthError(400, 'bad_oauth_state', 'OAuth state is invalid')
      return c.redirect(withQuery(config.siteUrl, describeError(error)).href, 303)
    }
    try {
      return c.redirect(finish(flow, parameters), 302)
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      return c.redirect(withErrors(flow.redirectTo, describeError(error)), 302)
    }
  })
  return api

  /** Returns where the browser continues. */
  function finish(flow: SocialFlow, parameters: URLSearchParams): string {
    flows.refuseExpired(flow)
    const denial = parameters.get('error')
    if (denial !== null) {
      flows.abandon(flow)
      return withErrors(flow.redirectTo, { error: denial, error_description: 'The sign-in was cancelled' })
    }
    const person = google.redeem(parameters.get('code') ?? '')
    if (person === undefined)
      throw new AuthError(400, 'validation_failed', 'OAuth callback with invalid code')
    refuseScopes(flow)
    const target = new URL(flow.redirectTo)
    const account = signInByProfile({ provider: flow.provider, ...person }, accounts)
    target.searchParams.append('code', flows.complete(flow, account.id))
    return target.href
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

/** Returns an error as the parameters of a redirect. */
export function describeError(error: AuthError): Record<string, string> {
  return {
    error: oauthErrors.get(error.status) ?? 'server_error',
    error_code: error.code,
    error_description: error.message,
  }
}

/** Adds the errors to the query for servers and to the fragment for scripts; `sb` marks their author. */
export function withErrors(target: string, parameters: Record<string, string>): string {
  const url = withQuery(target, parameters)
  url.hash = `${new URLSearchParams(parameters).toString()}&sb=`
  return url.href
}

/** Adds parameters to the query. */
export function withQuery(target: string, parameters: Record<string, string>): URL {
  const url = new URL(target)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}
