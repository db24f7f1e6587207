import { isCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { type Context, Hono } from 'hono'
import { AuthError } from '../auth-error.ts'
import type { AuthServices } from '../auth-services.ts'
import { signInByProfile } from '../accounts/account.ts'
import { chooseRedirectTarget } from '../social/social-flow.ts'
import type { Played, StandIn } from '../social/stand-in.ts'
import { readJsonBody, text } from './json-body.ts'
import { describeError, withQuery } from './social-api.ts'

/** The one company with single sign-on. */
export const company: Played & { id: string; domain: string } = {
  id: '5e8f2c1a-7d34-4b9e-9c60-2f1b8a4d6e73',
  domain: 'company.example',
  name: 'Company Example',
  accounts: [
    { subject: 'employee-1', name: 'Lin Example', email: 'lin@company.example' },
    { subject: 'employee-2', name: 'Noor Example', email: 'noor@company.example' },
    {
      subject: 'employee-3',
      name: 'Otto Example',
      email: 'otp@company.example',
      factorSecret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    },
  ],
}

/** The provider of its accounts, as user objects name it. */
export const ssoProvider: string = `sso:${company.id}`

/** Creates the routes of single sign-on by SAML, relative to the auth base URL. The stand-in redirects where SAML posts a form. */
export function createSsoApi(services: AuthServices, identityProvider: StandIn): Hono {
  const { accounts, config, flows } = services
  const api = new Hono()
  api.post('/sso', (c) => start(c))
  api.get('/sso/saml/acs', (c) => {
    try {
      return c.redirect(finish(new URL(c.req.url).searchParams), 302)
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      // As in the real API, also when a `redirect_to` is known.
      return c.redirect(withQuery(config.siteUrl, describeError(error)).href, 303)
    }
  })
  return api

  async function start(c: Context): Promise<Response> {
    const body = await readJsonBody(c.req.raw, {
      domain: text,
      redirect_to: text,
      code_challenge: text,
    })
    const { code_challenge: codeChallenge } = body
    if (!isCodeChallenge(codeChallenge)) {
      throw new AuthError(
        400,
        'validation_failed',
        'This provider signs in with PKCE only: send code_challenge',
      )
    }
    if (body.domain !== company.domain) {
      throw new AuthError(404, 'sso_provider_not_found', 'No SSO provider assigned for this domain')
    }
    const redirectTo = chooseRedirectTarget(config, body.redirect_to)
    const state = flows.start({ provider: ssoProvider, redirectTo, codeChallenge })
    return c.json({ url: identityProvider.authorizationUrl(state) })
  }

  /** Returns where the browser continues. */
  function finish(parameters: URLSearchParams): string {
    const flow = flows.find(parameters.get('state') ?? '')
    if (flow?.provider !== ssoProvider) {
      throw new AuthError(404, 'saml_relay_state_not_found', 'SAML RelayState does not exist')
    }
    flows.refuseExpired(flow)
    const person = identityProvider.redeem(parameters.get('code') ?? '')
    if (!person) {
      flows.abandon(flow)
      throw new AuthError(400, 'validation_failed', 'SAML Assertion is not valid')
    }
    const account = signInByProfile({ provider: ssoProvider, ...person }, accounts)
    return withQuery(flow.redirectTo, { code: flows.complete(flow, account.id) }).href
  }
}
