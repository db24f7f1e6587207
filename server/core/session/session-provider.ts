/** Tokens of one sign-in at the session provider. Times are epoch seconds. */
export interface ProviderSession {
  accessToken: string
  refreshToken: string
  expiresAt: number
  /** OpenID Connect only: what names the session when it is ended there. */
  idToken?: string | undefined
  /** OpenID Connect only: the provider's id for the sign-in (`sid`), which it names when that ends. */
  sid?: string | undefined
  /** OpenID Connect only: what userinfo said at sign-in. */
  userinfo?: Claims | undefined
}

/** What the provider says about a person, as access rules read it. */
export interface Profile {
  email: string | undefined
  /** Whether the provider has proven that the address is this person's. */
  emailVerified: boolean
  /** How the account signs in, by the provider's names, such as `google` or `email`; with OpenID Connect the issuer. */
  providers: readonly string[]
  /** Claims about the account. What its owner can write is left out. */
  claims: Claims
}

/** Claims about a person by name: of a token, of userinfo, or members of a user. */
export type Claims = Readonly<Record<string, unknown>>

/** Whose {@link Profile} is asked for: a session that the provider issued to this server, or who presented a token. */
export type ProfileSource =
  | { kind: 'session'; session: ProviderSession }
  | { kind: 'identity'; identity: Identity }

/** The user that a verified provider token names. `sub` is unique within the provider only. */
export interface Identity extends Profile {
  sub: string
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

/** A second factor that an account has and that can be asked for here. `label` is what the user called it. */
export interface SecondFactor {
  id: string
  label: string
}

/** How the first step of a sign-in ended. A session that still needs its second factor must not be used for anything else. */
export type SignInStep =
  | { kind: 'signed_in'; signIn: SignIn }
  | { kind: 'second_factor'; session: ProviderSession; factors: readonly SecondFactor[] }

/** A social sign-in method: `id` is the provider's name for it, `label` what people call it. */
export interface SocialMethod {
  id: string
  label: string
}

/** The captcha that the provider demands with a password. */
export interface Captcha {
  kind: 'hcaptcha' | 'turnstile'
  siteKey: string
}

/** What a provider can do; the login page offers exactly this. */
export interface ProviderCapabilities {
  password: boolean
  social: readonly SocialMethod[]
  captcha: Captcha | undefined
  /** Whether it proves that an address is the person's before it counts as verified. */
  confirmsEmail: boolean
}

/** Why a call to the session provider failed, the same for every provider. */
export type ProviderFailure =
  | 'invalid_credentials' // wrong password or unknown account: never told apart
  | 'email_unconfirmed'
  | 'captcha' // missing, wrong or too old
  | 'wrong_code' // of the second factor
  | 'second_factor_missing' // the policy demands one, and the account has none
  | 'second_factor_unusable' // the account has one, of a kind that cannot be asked for here
  | 'rate_limited'
  | 'disabled' // the provider does not offer it: a sign-in method that is switched off, or signing out here
  | 'expired' // a sign-in that was begun is unknown, too old or already used
  | 'denied' // the user or the social provider said no
  | 'terminal' // the session is gone for good: revoked, expired, banned; or the account may not sign in at all
  | 'invalid_token'
  | 'transient' // network, overload, 5xx: the same call may succeed later
  | 'protocol' // an answer nobody can read

/** Failure of a provider call. The message is for the log, never for a page; `cause` holds what was received. */
export class ProviderError extends Error {
  readonly failure: ProviderFailure
  readonly retryAfterSeconds: number | undefined
  /** False when the provider may have done what was asked, as when its answer got lost. */
  readonly outcomeKnown: boolean
  /** The provider refused this one call with an error code of its own: no outage, no limit, and our credentials are good. */
  readonly refused: boolean

  constructor(
    failure: ProviderFailure,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number; outcomeKnown?: boolean; refused?: boolean } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'ProviderError'
    this.failure = failure
    this.retryAfterSeconds = options.retryAfterSeconds
    this.outcomeKnown = options.outcomeKnown ?? true
    this.refused = options.refused ?? false
  }
}

/**
 * The provider's own word about a session, beyond what its access token says. `token_refused`: this token is no
 * longer accepted, and a refresh may help. `ended`: the session or its user is gone.
 */
export type SessionLife = 'live' | 'token_refused' | 'ended'

/** Whom a provider says it has signed out: a person, one sign-in of theirs, or both. */
export interface LogoutNotice {
  /** Of the notice itself: unique at the provider. */
  id: string
  sub: string | undefined
  sid: string | undefined
}

/** An answer of {@link SessionProvider.probe}: also what the provider says about the person at that moment. */
export interface SessionProbe {
  life: SessionLife
  claims?: Claims
}

/**
 * The outside system that signs the web app's users in. Every method rejects with {@link ProviderError}. A method that
 * a provider cannot offer is absent: only social sign-in, refresh and sign-out are universal.
 */
export interface SessionProvider {
  issuer: string
  capabilities(): Promise<ProviderCapabilities>
  /**
   * Sends an uncached request that needs no credentials. Resolves when the provider answers, even with a rate limit;
   * rejects when it does not answer, or not usably.
   */
  ping(): Promise<void>
  passwordSignIn?(input: {
    email: string
    password: string
    captchaToken: string | undefined
  }): Promise<SignInStep>
  /** `secret` stays on the server until {@link SessionProvider.socialFinish}. */
  socialStart(input: { method: string; callbackUrl: string }): Promise<{ url: string; secret: string }>
  /** `expired` when the parameters belong to another `secret`. */
  socialFinish(input: { params: URLSearchParams; secret: string; callbackUrl: string }): Promise<SignInStep>
  /** Rejects with `wrong_code`; the session that comes back replaces the one given, which is of no use any more. */
  verifySecondFactor?(input: { session: ProviderSession; factorId: string; code: string }): Promise<SignIn>
  refresh(session: ProviderSession): Promise<ProviderSession>
  /** Checks signature, issuer, audience, role and time; does not ask the provider whether the session still lives. */
  verify?(accessToken: string): Promise<Identity>
  /**
   * Asks the provider. Rejects with `transient` when the provider as a whole gives no clear answer, with `protocol`
   * when that may be about this token only.
   */
  probe?(accessToken: string): Promise<SessionProbe>
  /**
   * The person of a session or a verified token as they are now: `probed` is what the last {@link SessionProvider.probe} said, if
   * there was one. Nothing is verified again.
   */
  profileOf(of: ProfileSource, probed: Claims | undefined): Profile
  /** Whether only {@link SessionProvider.probe} tells the person's claims as they are now, and a refresh does not. */
  profileNeedsProbe: boolean
  /**
   * Checks a logout token (OpenID Connect Back-Channel Logout 1.0 section 2.6). Rejects with `invalid_token`. Not checked: whether it
   * was received before.
   */
  readLogout?(logoutToken: string): Promise<LogoutNotice>
  /**
   * Ends this one session, no other of the user's; also resolves when it was over before. Rejects with
   * `invalid_token` when the access token has to be refreshed first, and with `disabled` when the provider has no way to
   * end a session from here.
   */
  signOut(session: ProviderSession): Promise<void>
}
