import { z } from 'zod'

/** A session as the provider returns it; members that the app does not use are kept for the cookie. */
export interface ProviderSession {
  access_token: string
  refresh_token: string
}

export interface User {
  id: string
  email: string
}

const session: z.ZodType<ProviderSession> = z.looseObject({
  access_token: z.string(),
  refresh_token: z.string(),
})
const refusal = z.object({ code: z.string() })
const user: z.ZodType<User> = z.object({ id: z.string(), email: z.string().catch('') })

/** The provider refused; `code` is one of its error codes. */
export class AuthRefusal extends Error {
  readonly code: string

  constructor(code: string) {
    super(`The provider refused: ${code}`)
    this.code = code
  }
}

/** The calls to the session provider that the web app needs. They reject with {@link AuthRefusal}. */
export class AuthClient {
  readonly #url: string
  readonly #fetch: (request: Request) => Promise<Response>

  /** `url` is the base URL of the auth API. */
  constructor(url: string, fetch: (request: Request) => Promise<Response>) {
    this.#url = url
    this.#fetch = fetch
  }

  signUp(email: string, password: string): Promise<ProviderSession> {
    return this.#post('/signup', { email, password }, session)
  }

  signIn(email: string, password: string): Promise<ProviderSession> {
    return this.#post('/token?grant_type=password', { email, password }, session)
  }

  exchangeCode(code: string, codeVerifier: string): Promise<ProviderSession> {
    return this.#post('/token?grant_type=pkce', { auth_code: code, code_verifier: codeVerifier }, session)
  }

  refresh(refreshToken: string): Promise<ProviderSession> {
    return this.#post('/token?grant_type=refresh_token', { refresh_token: refreshToken }, session)
  }

  /** Ends this one session. The result does not matter: the cookie is removed anyway. */
  async signOut(accessToken: string): Promise<void> {
    const headers = { authorization: `Bearer ${accessToken}` }
    await this.#fetch(new Request(`${this.#url}/logout?scope=local`, { method: 'POST', headers }))
  }

  /** Refuses a token whose session has ended, too. */
  user(accessToken: string): Promise<User> {
    return this.#call('/user', { headers: { authorization: `Bearer ${accessToken}` } }, user)
  }

  /** Returns the URL that starts a Google sign-in. */
  googleUrl(redirectTo: string, codeChallenge: string): string {
    const parameters = new URLSearchParams({
      provider: 'google',
      redirect_to: redirectTo,
      code_challenge: codeChallenge,
      code_challenge_method: 's256',
    })
    return `${this.#url}/authorize?${parameters.toString()}`
  }

  #post<T>(path: string, body: object, shape: z.ZodType<T>): Promise<T> {
    return this.#call(path, { method: 'POST', body: JSON.stringify(body) }, shape)
  }

  async #call<T>(
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string },
    shape: z.ZodType<T>,
  ): Promise<T> {
    const headers = {
      'content-type': 'application/json',
      'x-supabase-api-version': '2024-01-01',
      ...init.headers,
    }
    const response = await this.#fetch(new Request(`${this.#url}${path}`, { ...init, headers }))
    const body: unknown = await response.json()
    if (response.ok) return shape.parse(body)
    // A failure says nothing about the session, which is kept.
    if (response.status >= 500) throw new Error(`The provider failed with ${response.status}.`)
    throw new AuthRefusal(refusal.parse(body).code)
  }
}

const messages = new Map([
  ['invalid_credentials', 'That email and password do not match an account.'],
  ['email_not_confirmed', 'This address is not confirmed yet. Confirm it, then sign in.'],
  ['user_banned', 'That email and password do not match an account.'],
  ['user_already_exists', 'An account with this address already exists. Sign in instead.'],
  ['weak_password', 'Choose a longer password: at least 6 characters.'],
  ['validation_failed', 'Check the email address and the password.'],
  ['over_request_rate_limit', 'Too many attempts. Wait a moment, then try again.'],
  ['access_denied', 'Google sign-in was cancelled. Nothing was shared.'],
  ['flow_state_expired', 'That sign-in took too long. Start it again.'],
  ['flow_state_not_found', 'That sign-in has already been used. Start it again.'],
  ['bad_code_verifier', 'That sign-in was started in another browser. Start it again here.'],
  ['bad_oauth_state', 'That sign-in is no longer valid. Start it again.'],
])

/** Returns the sentence to show for a refusal of the provider; rethrows everything else. A ban reads like a wrong password. */
export function explainRefusal(error: unknown): string {
  if (error instanceof AuthRefusal) return explainCode(error.code)
  throw error
}

/** Returns the sentence for an error of a social sign-in; the text in the URL is never shown. */
export function explainRedirect(parameters: URLSearchParams): string {
  const code = parameters.get('error_code') ?? parameters.get('error') ?? ''
  if (code === 'user_banned') return 'This account cannot sign in.'
  // Single sign-on that was refused: of an address or a password it says nothing.
  return explainCode(code === 'validation_failed' ? '' : code)
}

export function explainCode(code: string): string {
  return messages.get(code) ?? 'The sign-in did not work. Try again.'
}
