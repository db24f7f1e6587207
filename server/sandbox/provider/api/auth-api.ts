import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { type Context, Hono } from 'hono'
import { AuthError, OAuthServerError } from '../auth-error.ts'
import { hasVerifiedFactor, type Metadata } from '../accounts/account.ts'
import {
  authenticate,
  type AuthServices,
  describeSession,
  describeUser,
  type SessionBody,
  startSession,
} from '../auth-services.ts'
import { object, readJsonBody, text } from './json-body.ts'
import { magicLink } from '../social/social-flow.ts'
import { ssoProvider } from './social-api.ts'
import { hashPassword, validatePassword, verifyPassword } from '../accounts/password.ts'

/** Creates the routes of the auth API for accounts and sessions, relative to its base URL. */
export function createAuthApi(services: AuthServices): Hono {
  const api = new Hono()

  // The doctor compares these members.
  api.get('/.well-known/openid-configuration', (c) => c.json({ issuer: services.config.url }))
  api.get('/health', (c) =>
    c.json({
      version: 'v2.196.0-embedded',
      name: 'Drawbridge embedded provider',
      description: 'Local stand-in for a user registration and authentication API',
    }),
  )
  api.get('/settings', (c) => c.json(describeSettings(services)))
  api.get('/.well-known/jwks.json', (c) =>
    c.json(services.keys.jwks(), 200, { 'cache-control': 'public, max-age=600' }),
  )
  api.post('/signup', async (c) => {
    const shape = { email: text, password: text, data: object }
    return c.json(await signUp(services, await readJsonBody(c.req.raw, shape)))
  })
  api.post('/token', async (c) => {
    const body = await readJsonBody(c.req.raw, tokenShape)
    switch (c.req.query('grant_type')) {
      case 'password':
        return c.json(await signIn(services, body.email, body.password))
      case 'refresh_token': {
        const { rotated, session } = await refresh(services, body.refresh_token)
        return c.json(session, 200, { 'sb-auth-refresh-token-reuse': String(!rotated) })
      }
      case 'pkce':
        return c.json(await exchangeCode(services, body.auth_code, body.code_verifier))
      default:
        throw new AuthError(400, 'invalid_credentials', 'unsupported_grant_type')
    }
  })
  api.get('/user', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    return c.json(describeUser(account))
  })
  api.put('/user', async (c) => updateUser(services, c))
  api.post('/logout', async (c) => signOut(services, c))
  return api
}

const tokenShape = {
  email: text,
  password: text,
  refresh_token: text,
  auth_code: text,
  code_verifier: text,
}

function describeSettings(services: AuthServices): Record<string, unknown> {
  const social = services.socialProviders.map((name) => [name, true] as const)
  return {
    external: { ...Object.fromEntries(social), email: true },
    disable_signup: false,
    mailer_autoconfirm: !services.confirmsEmail,
    saml_enabled: true,
  }
}

/** Creates an account, and signs in to it. */
export async function signUp(
  services: AuthServices,
  { email, password, data }: { email: string; password: string; data?: Metadata | null | undefined },
): Promise<SessionBody> {
  const { accounts, runtime } = services
  if (email === '') {
    throw new AuthError(422, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled')
  }
  if (password === '') throw new AuthError(400, 'validation_failed', 'Signup requires a valid password')
  validatePassword(password)
  const passwordHash = await hashPassword(password, runtime.randomBytes(16))
  const metadata = data ?? {}
  const { id } = accounts.create({ kind: 'email', email, passwordHash, confirmed: true, metadata })
  return startSession(services, id, 'password')
}

async function updateUser(services: AuthServices, c: Context): Promise<Response> {
  const { accounts, runtime, sessions } = services
  const { account, session } = await authenticate(services, c.req.raw)
  const shape = { email: text, password: text, data: object }
  const { email, password, data } = await readJsonBody(c.req.raw, shape)
  if (email !== '' && email.toLowerCase() !== account.email) {
    throw new AuthError(400, 'validation_failed', 'The embedded provider does not change addresses')
  }
  if (password !== '') {
    validatePassword(password)
    if (session.aal !== 'aal2' && hasVerifiedFactor(account)) {
      const message = 'AAL2 session is required to update email or password when MFA is enabled.'
      throw new AuthError(401, 'insufficient_aal', message)
    }
    const passwordHash = await hashPassword(password, runtime.randomBytes(16))
    accounts.update(account.id, (changed) => {
      changed.passwordHash = passwordHash
    })
    sessions.endAll(account.id, session.id)
  }
  return c.json(describeUser(accounts.update(account.id, (changed) => Object.assign(changed.metadata, data))))
}

/** Ends sessions; issued access tokens stay valid until they expire, for services that check only the signature. */
async function signOut(services: AuthServices, c: Context): Promise<Response> {
  const { sessions } = services
  const scope = c.req.query('scope') || 'global'
  const { account, session } = await authenticate(services, c.req.raw)
  if (scope === 'global') sessions.endAll(account.id)
  else if (scope === 'local') sessions.end(session.id)
  else throw new AuthError(400, 'validation_failed', `Unsupported logout scope ${JSON.stringify(scope)}`)
  return c.body(null, 204)
}

/** Rejects with `AuthError`. */
export async function signIn(services: AuthServices, email: string, password: string): Promise<SessionBody> {
  const { accounts } = services
  if (email === '') throw new AuthError(400, 'validation_failed', 'missing email or phone')
  const account = accounts.findByEmail(email)
  // Like the real API, checks for a ban before the password.
  if (account?.passwordHash) accounts.refuseBanned(account, 400)
  const matches = await verifyPassword(password, account?.passwordHash ?? null)
  if (account === undefined || !matches) {
    throw new AuthError(400, 'invalid_credentials', 'Invalid login credentials')
  }
  if (account.confirmedAt === null) throw new AuthError(400, 'email_not_confirmed', 'Email not confirmed')
  return startSession(services, account.id, 'password')
}

/** `rotated` is false for a replay that gets the active token again. A session of a client is refreshed by that client only. */
export async function refresh(
  services: AuthServices,
  token: string,
  clientId?: string,
): Promise<{ session: SessionBody; rotated: boolean }> {
  const { accounts, sessions } = services
  if (token === '') throw new AuthError(400, 'validation_failed', 'refresh_token required')
  const presented = sessions.present(token)
  const account = accounts.get(presented.session.accountId)
  accounts.refuseBanned(account, 400, 'Invalid Refresh Token: User Banned')
  if (presented.session.clientId !== clientId) {
    throw new OAuthServerError('invalid_client', "Client does not match the session's OAuth client")
  }
  const { session, rotated } = sessions.rotate(presented)
  return { session: await describeSession(services, session), rotated }
}

/** Redeems the code of a sign-in elsewhere: socially, by single sign-on, or by a mailed link. */
export async function exchangeCode(
  services: AuthServices,
  code: string,
  verifier: string,
): Promise<SessionBody> {
  if (code === '' || verifier === '') {
    const message = 'invalid request: both auth code and code verifier should be non-empty'
    throw new AuthError(400, 'validation_failed', message)
  }
  const { provider, accountId } = await services.flows.redeem(code, verifier)
  if (provider === magicLink) return startSession(services, accountId, magicLink)
  if (provider === ssoProvider) return startSession(services, accountId, 'sso/saml')
  // As long as one of Google can be, so that the session needs several cookies.
  const providerToken = encodeBase64url(services.runtime.randomBytes(900))
  return { ...(await startSession(services, accountId, 'oauth')), provider_token: providerToken }
}
