import { isJsonObject } from '@drawbridge/shared/json-object.ts'

/** A session as the provider returns it; members that the app does not read are kept for the cookie. */
export interface ProviderSession {
  access_token: string
  refresh_token: string
}

/** The signed-in user. */
export interface User {
  id: string
  email: string
}

/** Why the provider said no. `unavailable` means that it said nothing: try again, nothing is lost. */
export type AuthFault = { kind: 'refused'; code: string } | { kind: 'unavailable' }

/** An answer of the provider. */
export type AuthResult<T> = { ok: true; value: T } | { ok: false; fault: AuthFault }

/** The calls to the session provider that the web app needs. */
export interface AuthClient {
  signUp(email: string, password: string): Promise<AuthResult<ProviderSession | undefined>>
  signIn(email: string, password: string): Promise<AuthResult<ProviderSession>>
  exchangeCode(code: string, codeVerifier: string): Promise<AuthResult<ProviderSession>>
  refresh(refreshToken: string): Promise<AuthResult<ProviderSession>>
  /** Ends this one session. What the provider answers does not matter: the cookie goes anyway. */
  signOut(accessToken: string): Promise<void>
  user(accessToken: string): Promise<AuthResult<User>>
  /** Where a browser starts a Google sign-in. */
  googleUrl(redirectTo: string, codeChallenge: string): string
}

/** A client of the auth API at `authUrl`; `authFetch` is its network. */
export function createAuthClient(
  authUrl: string,
  authFetch: (request: Request) => Promise<Response>,
): AuthClient {
  async function call<T>(
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string },
    read: (body: unknown) => T | undefined,
  ): Promise<AuthResult<T>> {
    const headers = {
      'content-type': 'application/json',
      'x-supabase-api-version': '2024-01-01',
      ...init.headers,
    }
    try {
      const response = await authFetch(new Request(`${authUrl}${path}`, { ...init, headers }))
      const body: unknown = await response.json()
      if (!response.ok) return { ok: false, fault: describeFault(response.status, body) }
      const value = read(body)
      return value === undefined ? { ok: false, fault: { kind: 'unavailable' } } : { ok: true, value }
    } catch {
      return { ok: false, fault: { kind: 'unavailable' } }
    }
  }

  const post = <T>(
    path: string,
    body: object,
    read: (body: unknown) => T | undefined,
  ): Promise<AuthResult<T>> => call(path, { method: 'POST', body: JSON.stringify(body) }, read)

  return {
    async signUp(email, password) {
      const result = await post('/signup', { email, password }, (body) => ({ session: readSession(body) }))
      return result.ok ? { ok: true, value: result.value.session } : result
    },
    signIn: (email, password) => post('/token?grant_type=password', { email, password }, readSession),
    exchangeCode: (code, codeVerifier) =>
      post('/token?grant_type=pkce', { auth_code: code, code_verifier: codeVerifier }, readSession),
    refresh: (refreshToken) =>
      post('/token?grant_type=refresh_token', { refresh_token: refreshToken }, readSession),
    async signOut(accessToken) {
      const headers = { authorization: `Bearer ${accessToken}` }
      await authFetch(new Request(`${authUrl}/logout?scope=local`, { method: 'POST', headers })).catch(
        () => undefined,
      )
    },
    user: (accessToken) => call('/user', { headers: { authorization: `Bearer ${accessToken}` } }, readUser),
    googleUrl(redirectTo, codeChallenge) {
      const url = new URL(`${authUrl}/authorize`)
      url.searchParams.set('provider', 'google')
      url.searchParams.set('redirect_to', redirectTo)
      url.searchParams.set('code_challenge', codeChallenge)
      url.searchParams.set('code_challenge_method', 's256')
      return url.href
    },
  }
}

function describeFault(status: number, body: unknown): AuthFault {
  const code = isJsonObject(body) ? body['code'] : undefined
  // Too many requests and a broken gateway pass by; every other answer is a decision.
  if (status >= 500 || typeof code !== 'string') return { kind: 'unavailable' }
  return { kind: 'refused', code }
}

function readSession(body: unknown): ProviderSession | undefined {
  if (!isJsonObject(body)) return undefined
  const { access_token: accessToken, refresh_token: refreshToken } = body
  if (typeof accessToken !== 'string' || typeof refreshToken !== 'string') return undefined
  return { ...body, access_token: accessToken, refresh_token: refreshToken }
}

function readUser(body: unknown): User | undefined {
  if (!isJsonObject(body)) return undefined
  const { id, email } = body
  return typeof id === 'string' ? { id, email: typeof email === 'string' ? email : '' } : undefined
}

const MESSAGES = new Map([
  ['invalid_credentials', 'That email and password do not match an account.'],
  ['email_not_confirmed', 'This address is not confirmed yet. Confirm it, then sign in.'],
  ['user_banned', 'That email and password do not match an account.'],
  ['user_already_exists', 'There is an account with this address already. Sign in instead.'],
  ['weak_password', 'Choose a longer password: at least 6 characters.'],
  ['validation_failed', 'Check the email address and the password.'],
  ['over_request_rate_limit', 'Too many attempts. Wait a moment, then try again.'],
  ['access_denied', 'Google sign-in was cancelled. Nothing was shared.'],
  ['flow_state_expired', 'That sign-in took too long. Start it again.'],
  ['flow_state_not_found', 'That sign-in has already been used. Start it again.'],
  ['bad_code_verifier', 'That sign-in was started in another browser. Start it again here.'],
  ['bad_oauth_state', 'That sign-in is not known any more. Start it again.'],
])

/** The sentence to show next to a form for a refusal of the provider. A ban reads like a wrong password. */
export function explainFault(fault: AuthFault): string {
  if (fault.kind === 'unavailable') return 'The sign-in service does not answer. Try again in a moment.'
  return explainCode(fault.code)
}

/** The sentence for an error that a social sign-in came back with; the text in the address is never shown. */
export function explainRedirect(parameters: URLSearchParams): string {
  const code = parameters.get('error_code') ?? parameters.get('error') ?? ''
  return code === 'user_banned' ? 'This account cannot sign in.' : explainCode(code)
}

function explainCode(code: string): string {
  return MESSAGES.get(code) ?? 'The sign-in did not work. Try again.'
}
