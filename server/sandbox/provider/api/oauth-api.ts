import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import { Hono } from 'hono'
import { AuthError, OAuthServerError } from '../auth-error.ts'
import { authenticate, type AuthServices, type SessionBody, startSession } from '../auth-services.ts'
import { oauthServer, type SocialFlow } from '../social/social-flow.ts'
import { refresh } from './auth-api.ts'
import { readJsonBody, text } from './json-body.ts'

/**
 * Creates the routes of the API's OAuth server, relative to `/oauth`, for the one client of the sandbox. Its page of consent is a page
 * of the web app, which the demo app does not have.
 */
export function createOAuthApi(services: AuthServices): Hono {
  const { config, flows } = services
  const { oauthClient: client } = config
  /** Accounts that have approved before, in memory. */
  const consents = new Set<string>()
  const api = new Hono()
  if (!client)
    return api.use(() => {
      throw new AuthError(404, 'feature_disabled', 'OAuth server is disabled')
    })

  api.get('/authorize', (c) => {
    const { client_id: id, redirect_uri: redirectTo = '', state: clientState } = c.req.query()
    if (id !== client.id) throw new AuthError(400, 'oauth_client_not_found', 'invalid client_id')
    if (redirectTo !== client.redirectUri)
      throw new AuthError(400, 'validation_failed', 'invalid redirect_uri')
    const codeChallenge = c.req.query('code_challenge') ?? ''
    const { state } = flows.start({ provider: oauthServer, redirectTo, codeChallenge, clientState })
    return c.redirect(`${config.siteUrl}/oauth/consent?authorization_id=${state}`)
  })
  api.get('/authorizations/:id', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    const flow = find(c.req.param('id'))
    if (consents.has(account.id)) return c.json({ redirect_url: flows.complete(flow, account.id) })
    const details = { authorization_id: flow.state, redirect_uri: flow.redirectTo, scope: 'email' }
    return c.json({ ...details, client: { id: client.id, name: 'Drawbridge' } })
  })
  api.post('/authorizations/:id/consent', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    const { action } = await readJsonBody(c.req.raw, { action: text })
    if (action !== 'approve') throw new AuthError(400, 'validation_failed', "action must be 'approve'")
    const redirect = flows.complete(find(c.req.param('id')), account.id)
    consents.add(account.id)
    return c.json({ redirect_url: redirect })
  })
  api.post('/token', async (c) => {
    // As the real API does, decodes no more than base64.
    const [, credentials = ''] = c.req.header('authorization')?.split('Basic ') ?? []
    const given = Buffer.from(credentials, 'base64').toString()
    if (!constantTimeEqual(given, `${client.id}:${client.secret}`))
      throw new AuthError(400, 'invalid_credentials', 'invalid client credentials')
    const form = new URLSearchParams(await c.req.text())
    const token = form.get('refresh_token')
    const session =
      token === null ? await redeem(form, client.id) : (await refresh(services, token, client.id)).session
    const { access_token, token_type, expires_in, refresh_token } = session
    return c.json({ access_token, token_type, expires_in, refresh_token })
  })
  return api

  function find(id: string): SocialFlow {
    const flow = flows.find(id)
    if (flow?.provider === oauthServer) return flow
    throw new AuthError(404, 'oauth_authorization_not_found', 'authorization not found')
  }

  async function redeem(form: URLSearchParams, clientId: string): Promise<SessionBody> {
    try {
      const [code, verifier] = [form.get('code') ?? '', form.get('code_verifier') ?? '']
      const { accountId } = await flows.redeem(code, verifier, true)
      return await startSession(services, accountId, 'oauth_provider/authorization_code', clientId)
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      const code = error.code === 'user_banned' ? 'access_denied' : 'invalid_grant'
      throw new OAuthServerError(code, error.message)
    }
  }
}
