/** Tokens of one sign-in at the session provider. Times are epoch seconds. */
export interface ProviderSession {
  accessToken: string
  refreshToken: string
  expiresAt: number
}

/** The user that a verified provider token names. `sub` is unique within the provider only. */
export interface Identity {
  sub: string
  email: string | undefined
  name: string | undefined
  /** Whether this sign-in went through a second factor. */
  secondFactor: boolean
  expiresAt: number
}

/** What a completed sign-in yields. */
export interface SignIn {
  session: ProviderSession
  identity: Identity
}

/** What a provider can do; the login page offers exactly this. */
export interface ProviderCapabilities {
  password: boolean
  social: readonly string[]
}

/** Why a call to the session provider failed, the same for every provider. */
export type ProviderFailure =
  | 'invalid_credentials' // wrong password or unknown account: never told apart
  | 'email_unconfirmed'
  | 'second_factor_needed' // the account has one, and this sign-in did not ask for it
  | 'rate_limited'
  | 'disabled' // the sign-in method is switched off at the provider
  | 'expired' // a sign-in that was begun is unknown, too old or already used
  | 'denied' // the user or the social provider said no
  | 'terminal' // the session is gone for good: revoked, expired, banned
  | 'invalid_token'
  | 'transient' // network, overload, 5xx: the same call may succeed later
  | 'protocol' // an answer nobody can read

/** Failure of a provider call. The message is for the log, never for a page; `cause` holds what was received. */
export class ProviderError extends Error {
  readonly failure: ProviderFailure
  readonly retryAfterSeconds: number | undefined

  constructor(
    failure: ProviderFailure,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'ProviderError'
    this.failure = failure
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

/** The outside system that signs the web app's users in. Every method rejects with {@link ProviderError}. */
export interface SessionProvider {
  issuer: string
  capabilities(): Promise<ProviderCapabilities>
  passwordSignIn(input: { email: string; password: string }): Promise<SignIn>
  /** `secret` stays on the server until {@link SessionProvider.socialFinish}. */
  socialStart(input: { method: string; callbackUrl: string }): Promise<{ url: string; secret: string }>
  socialFinish(input: { params: URLSearchParams; secret: string }): Promise<SignIn>
  refresh(refreshToken: string): Promise<ProviderSession>
  /** Checks signature, issuer, audience, role and time; does not ask the provider whether the session still lives. */
  verify(accessToken: string): Promise<Identity>
  signOut(session: ProviderSession): Promise<void>
}
