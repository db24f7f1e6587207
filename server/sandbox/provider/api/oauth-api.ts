import { randomUUID } from 'node:crypto'
import { constantTimeEqual, isCodeChallenge, matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { Hono } from 'hono'
import { AuthError, OAuthServerError } from '../auth-error.ts'
import {
  authenticate,
  type AuthServices,
  type OAuthClient,
  type SessionBody,
  startSession,
} from '../auth-services.ts'
import { refresh } from './auth-api.ts'
import { readJsonBody, text } from './json-body.ts'

const authorizationSeconds = 600

interface Authorization {
  redirectUri: string
  scope: string
  state: string
  codeChallenge: string
  expiresAt: number
  accountId?: string
  code?: string
}

/** Authorizations and consents, in memory. */
class Authorizations {
  readonly #pending = new Map<string, Authorization>()
  /** Accounts that have approved before. */
  readonly #consents = new Set<string>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  add(request: Pick<Authorization, 'redirectUri' | 'scope' | 'state' | 'codeChallenge'>): string {
    for (const [old, { expiresAt }] of this.#pending) {
      if (expiresAt <= this.#now()) this.#pending.delete(old)
    }
    const id = randomUUID()
    this.#pending.set(id, { ...request, expiresAt: this.#now() + authorizationSeconds })
    return id
  }

  /** Finds an authorization for the account that asks first; `redirect` is its return if the account has approved before. */
  open(id: string, accountId: string): { pending: Authorization; redirect: string | undefined } {
    const pending = this.#pending.get(id)
    const isOthers = pending?.accountId !== undefined && pending.accountId !== accountId
    if (!pending || isOthers || pending.expiresAt <= this.#now()) {
      throw new AuthError(404, 'oauth_authorization_not_found', 'authorization not found')
    }
    if (pending.code !== undefined) {
      throw new AuthError(400, 'validation_failed', 'authorization request is no longer pending')
    }
    pending.accountId = accountId
    return { pending, redirect: this.#consents.has(accountId) ? returnWithCode(pending) : undefined }
  }

  /** Returns where the browser goes with the code. */
  approve(id: string, accountId: string): string {
    const { pending, redirect } = this.open(id, accountId)
    this.#consents.add(accountId)
    return redirect ?? returnWithCode(pending)
  }

  /** Returns the account of a code, once. A wrong verifier leaves the code usable. */
  async redeem(code: string, verifier: string): Promise<string> {
    const [id, found] = [...this.#pending].find(([, one]) => one.code === code) ?? []
    if (id === undefined || !found?.accountId || found.expiresAt <= this.#now()) {
      throw new OAuthServerError('invalid_grant', 'Invalid authorization code')
    }
    const isRight = await matchesCodeChallenge(verifier, found.codeChallenge)
    // Two exchanges may have waited above; the one that deletes wins.
    if (isRight && this.#pending.delete(id)) return found.accountId
    throw new OAuthServerError('invalid_grant', 'PKCE verification failed')
  }
}

function returnWithCode(pending: Authorization): string {
  const { redirectUri, state } = pending
  pending.code = randomUUID()
  return `${redirectUri}?${new URLSearchParams({ code: pending.code, state }).toString()}`
}

interface WithClient {
  Variables: { client: OAuthClient }
}

/**
 * Creates the routes of the API's OAuth server, relative to `/oauth`, for the one client of the sandbox. Its page of consent is a page
 * of the web app, which the demo app does not have.
 */
export function createOAuthApi(services: AuthServices): Hono<WithClient> {
  const { config, runtime } = services
  const authorizations = new Authorizations(runtime.now)
  const api = new Hono<WithClient>()

  api.use(async (c, next) => {
    if (!config.oauthClient) throw new AuthError(404, 'feature_disabled', 'OAuth server is disabled')
    c.set('client', config.oauthClient)
    return next()
  })
  api.get('/authorize', (c) => {
    const { client_id: id, redirect_uri: redirectUri = '', scope = 'email', state = '' } = c.req.query()
    if (id !== c.var.client.id) throw new AuthError(400, 'oauth_client_not_found', 'invalid client_id')
    if (redirectUri !== c.var.client.redirectUri) {
      throw new AuthError(400, 'validation_failed', 'invalid redirect_uri')
    }
    const { code_challenge: codeChallenge = '', code_challenge_method: method = '' } = c.req.query()
    if (method.toLowerCase() === 's256' && isCodeChallenge(codeChallenge)) {
      const authorization = authorizations.add({ redirectUri, scope, state, codeChallenge })
      return c.redirect(`${config.siteUrl}/oauth/consent?authorization_id=${authorization}`)
    }
    const error = { error: 'invalid_request', error_description: 'PKCE flow requires S256', state }
    return c.redirect(`${redirectUri}?${new URLSearchParams(error).toString()}`)
  })
  api.get('/authorizations/:id', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    const id = c.req.param('id')
    const { pending, redirect } = authorizations.open(id, account.id)
    if (redirect !== undefined) return c.json({ redirect_url: redirect })
    const user = { id: account.id, email: account.email }
    const { redirectUri: redirect_uri, scope } = pending
    return c.json({ authorization_id: id, redirect_uri, client: { id: c.var.client.id }, user, scope })
  })
  api.post('/authorizations/:id/consent', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    const { action } = await readJsonBody(c.req.raw, { action: text })
    if (action === 'approve')
      return c.json({ redirect_url: authorizations.approve(c.req.param('id'), account.id) })
    throw new AuthError(400, 'validation_failed', "action must be 'approve'")
  })
  api.post('/token', async (c) => {
    const { client } = c.var
    authenticateClient(client, c.req.header('authorization'))
    const form = new URLSearchParams(await c.req.text())
    const given = (name: string): string => form.get(name) ?? ''
    const answer =
      given('grant_type') === 'refresh_token'
        ? (await refresh(services, given('refresh_token'), client.id)).session
        : await startClientSession(await authorizations.redeem(given('code'), given('code_verifier')), client)
    const { access_token, token_type, expires_in, refresh_token } = answer
    return c.json({ access_token, token_type, expires_in, refresh_token })
  })
  return api

  async function startClientSession(accountId: string, client: OAuthClient): Promise<SessionBody> {
    try {
      return await startSession(services, accountId, 'oauth_provider/authorization_code', client.id)
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
      throw new OAuthServerError('access_denied', 'User is banned')
    }
  }
}

/** Reads Basic credentials as the real API does, which decodes no more than base64. */
function authenticateClient({ id, secret }: OAuthClient, header = ''): void {
  const given = Buffer.from(header.replace(/^Basic /, ''), 'base64').toString()
  if (constantTimeEqual(given, `${id}:${secret}`)) return
  throw new AuthError(400, 'invalid_credentials', 'invalid client credentials')
}
