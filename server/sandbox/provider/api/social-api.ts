import { deriveCodeChallenge, isCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { Hono } from 'hono'
import { AuthError } from '../auth-error.ts'
import { type AuthServices, socialProviders } from '../auth-services.ts'
import { chooseRedirectTarget } from '../social/redirect-target.ts'
import type { SocialFlow } from '../social/social-flow.ts'
import type { StandInGoogle } from '../social/google.ts'

/** Parameters of `/authorize` that are not passed on to the social provider. */
const OWN_PARAMETERS = new Set([
  'provider',
  'redirect_to',
  'scopes',
  'code_challenge',
  'code_challenge_method',
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'state',
])

/** The value of `error` for a status, where it is not `server_error`. */
const OAUTH_ERRORS = new Map([
  [400, 'invalid_request'],
  [403, 'access_denied'],
])

/** The routes of a social sign-in, relative to the auth base URL: a browser walks them, so failures are redirects. */
export function createSocialApi(services: AuthServices, google: StandInGoogle): Hono {
  const { config, flows, identities } = services
  const api = new Hono()

  api.get('/authorize', async (c) => {
    const query = new URL(c.req.url).searchParams
    const provider = query.get('provider') ?? ''
    if (!socialProviders(services).includes(provider)) {
      throw new AuthError(400, 'validation_failed', 'Unsupported provider: provider is not enabled')
    }
    const codeChallenge = query.get('code_challenge') ?? ''
    const method = query.get('code_challenge_method')?.toLowerCase()
    if (!isCodeChallenge(codeChallenge) || (method !== 's256' && method !== 'plain')) {
      const message = 'This provider signs in with PKCE only: send code_challenge and code_challenge_method'
      throw new AuthError(400, 'validation_failed', message)
    }
    const redirectTo = chooseRedirectTarget(
      { siteUrl: config.siteUrl, allowList: config.redirectAllowList },
      query.get('redirect_to') ?? undefined,
      c.req.header('referer'),
    )
    // A plain challenge is the verifier itself.
    const hashed = method === 'plain' ? await deriveCodeChallenge(codeChallenge) : codeChallenge
    const state = flows.start({ provider, redirectTo, codeChallenge: hashed })
    const passedOn = [...query].filter(([name]) => !OWN_PARAMETERS.has(name))
    return c.redirect(google.authorizationUrl(state, passedOn), 302)
  })

  api.on(['GET', 'POST'], '/callback', async (c) => {
    const form = c.req.method === 'POST' ? new URLSearchParams(await c.req.text()) : undefined
    const parameters = form ?? new URL(c.req.url).searchParams
    const state = parameters.get('state') ?? ''
    const flow = flows.find(state)
    if (flow === undefined) {
      const error =
        state === ''
          ? new AuthError(400, 'bad_oauth_callback', 'OAuth state parameter missing')
          : new AuthError(400, 'bad_oauth_state', 'OAuth state is invalid')
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

  /** Where the browser goes on. */
  function finish(flow: SocialFlow, parameters: URLSearchParams): string {
    if (flow.expired) throw new AuthError(422, 'flow_state_expired', 'Flow state has expired')
    const denial = parameters.get('error')
    if (denial !== null) {
      flows.abandon(flow.state)
      const description = parameters.get('error_description') ?? 'The sign-in was cancelled'
      return withErrors(flow.redirectTo, { error: denial, error_description: description })
    }
    const person = google.redeem(parameters.get('code') ?? '')
    if (person === undefined)
      throw new AuthError(400, 'validation_failed', 'OAuth callback with invalid code')
    const target = new URL(flow.redirectTo)
    const account = identities.signIn({ provider: flow.provider, ...person })
    target.searchParams.append('code', flows.complete(flow.state, account.id))
    return target.href
  }
}

function describeError(error: AuthError): Record<string, string> {
  return {
    error: OAUTH_ERRORS.get(error.status) ?? 'server_error',
    error_code: error.code,
    error_description: error.message,
  }
}

/** The errors stand in the query for servers and again in the fragment for scripts; `sb` marks who wrote them. */
function withErrors(target: string, parameters: Record<string, string>): string {
  const url = withQuery(target, parameters)
  url.hash = `${new URLSearchParams(parameters).toString()}&sb=`
  return url.href
}

function withQuery(target: string, parameters: Record<string, string>): URL {
  const url = new URL(target)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}
