import { AuthError } from './auth-error.ts'
import { sessionResponse, type AuthServices } from './auth-services.ts'
import type { JsonBody } from './json-body.ts'
import { verifyPassword } from './password.ts'

/** A `grant_type` of `POST /token`. */
export type GrantType = 'password' | 'refresh_token' | 'pkce'

type Grant = (services: AuthServices, body: JsonBody) => Promise<Response>

/** The grants of `POST /token?grant_type=`. */
export const GRANTS: Readonly<Record<GrantType, Grant>> = {
  password: passwordGrant,
  refresh_token: refreshTokenGrant,
  pkce: pkceGrant,
}

/** Whether the parameter names one of the grants. */
export function isGrantType(type: string | undefined): type is GrantType {
  return type === 'password' || type === 'refresh_token' || type === 'pkce'
}

async function passwordGrant(services: AuthServices, body: JsonBody): Promise<Response> {
  const { accounts, sessions } = services
  const email = body.text('email')
  const password = body.text('password')
  if (email === '') throw new AuthError(400, 'validation_failed', 'missing email or phone')
  const account = accounts.findByEmail(email)
  // Like the real API, checks for a ban before the password.
  if (account?.passwordHash !== undefined && accounts.isBanned(account)) {
    throw new AuthError(400, 'user_banned', 'User is banned')
  }
  const matches = await verifyPassword(password, account?.passwordHash)
  if (account === undefined || !matches) {
    throw new AuthError(400, 'invalid_credentials', 'Invalid login credentials')
  }
  if (account.confirmedAt === undefined)
    throw new AuthError(400, 'email_not_confirmed', 'Email not confirmed')
  accounts.recordSignIn(account.id)
  return sessionResponse(services, sessions.create(account.id, 'password'), { weak_password: null })
}

async function refreshTokenGrant(services: AuthServices, body: JsonBody): Promise<Response> {
  const { accounts, sessions } = services
  const token = body.text('refresh_token')
  if (token === '') throw new AuthError(400, 'validation_failed', 'refresh_token required')
  const presented = sessions.present(token)
  const account = accounts.findById(presented.session.accountId)
  if (account !== undefined && accounts.isBanned(account)) {
    throw new AuthError(400, 'user_banned', 'Invalid Refresh Token: User Banned')
  }
  const { session, rotated } = sessions.rotate(presented)
  const response = await sessionResponse(services, session)
  response.headers.set('sb-auth-refresh-token-counter', String(session.refreshCounter))
  response.headers.set('sb-auth-refresh-token-reuse', String(!rotated))
  return response
}

async function pkceGrant(services: AuthServices, body: JsonBody): Promise<Response> {
  const { accounts, flows, sessions } = services
  const code = body.text('auth_code')
  const verifier = body.text('code_verifier')
  if (code === '' || verifier === '') {
    const message = 'invalid request: both auth code and code verifier should be non-empty'
    throw new AuthError(400, 'validation_failed', message)
  }
  const accountId = await flows.redeem(code, verifier)
  const account = accounts.findById(accountId)
  if (account !== undefined && accounts.isBanned(account)) {
    throw new AuthError(403, 'user_banned', 'User is banned')
  }
  accounts.recordSignIn(accountId)
  return sessionResponse(services, sessions.create(accountId, 'oauth'), {
    provider_token: `stand-in-google-${accountId}`,
    provider_refresh_token: `stand-in-google-refresh-${accountId}`,
  })
}
