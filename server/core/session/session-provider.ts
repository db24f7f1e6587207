/** Tokens of one sign-in at the session provider. Times are epoch seconds. */
export interface ProviderSession {
  accessToken: string
  refreshToken: string
  expiresAt: number
  /** Supabase only: true if it belongs to this server's client of the project's OAuth server, which alone can refresh it. */
  isOfClient?: true | undefined
  /** OpenID Connect only: identifies the session when it is ended at the provider. */
  idToken?: string | undefined
  /** OpenID Connect only: the provider's id of the sign-in (`sid`), used in its logout notices. */
  sid?: string | undefined
  /** The userinfo response at sign-in; of the web app, what it said last about the user. */
  userinfo?: Claims | undefined
}

/** The provider's description of a user, as access rules read it. */
export interface Profile {
  email: string | undefined
  /** True when the provider has verified that the address is this user's; undefined if it does not say. */
  emailVerified: boolean | undefined
  name: string | undefined
  /** How the account signs in, by the provider's names, such as `google` or `email`; with OpenID Connect the issuer. */
  providers: readonly string[]
  /** Claims about the account, except those its owner can change. */
  claims: Claims
  /** Claims of the token that the provider's later response lacks. Only `deny` rules trust them. */
  formerClaims?: Claims
}

/** Claims about a user by name: of a token, of userinfo, or members of a user. */
export type Claims = Readonly<Record<string, unknown>>

export type ProfileSource =
  | { kind: 'session'; session: ProviderSession }
  | { kind: 'identity'; identity: Identity }

/** The user of a verified provider token. `sub` is unique within the provider only. */
export interface Identity {
  sub: string
  /** Omitted when the provider marks it as unverified; access rules use {@link Profile}. */
  email: string | undefined
  name: string | undefined
  claims: Claims
  secondFactor: boolean
  expiresAt: number
}

export interface SignIn {
  session: ProviderSession
  identity: Identity
}

/** A second factor of an account that this server can prompt for. `label` is the user's name for it. */
export interface SecondFactor {
  id: string
  label: string
}

/** Result of the first step of a sign-in. A session that still needs its second factor must not be used for anything else. */
export type SignInStep =
  | { kind: 'signed_in'; signIn: SignIn }
  | { kind: 'second_factor'; session: ProviderSession; factors: readonly SecondFactor[] }

/** A social sign-in method: `id` is the provider's name for it, `label` its display name. */
export interface SocialMethod {
  id: string
  label: string
}

export interface Captcha {
  kind: 'hcaptcha' | 'turnstile'
  siteKey: string
}

/** The content of a sign-in mail: a code to type, a link to open, or both. */
export type EmailMethod = 'code' | 'link' | 'both'

/** The ways to sign in, in the order of the login page unless the operator sets another. */
export const signInMethods = ['password', 'email', 'social', 'sso'] as const
export type SignInMethod = (typeof signInMethods)[number]

/** The provider's capabilities; the login page offers exactly these. */
export interface ProviderCapabilities {
  password: boolean
  /** Left out when no mail is offered. */
  email?: EmailMethod | undefined
  social: readonly SocialMethod[]
  /** Single sign-on at the identity provider of a company, found by its domain. Left out when it is not offered. */
  sso?: boolean
  captcha: Captcha | undefined
  /** True when it verifies that an address is the user's before marking it as verified. */
  confirmsEmail: boolean
}

/** Why a call to the session provider failed, the same for every provider. */
export type ProviderFailure =
  | 'invalid_credentials' // wrong password or unknown account, never distinguished
  | 'bad_email' // no address that mail can be sent to
  | 'bad_domain' // no domain that a company could have
  | 'unknown_domain' // no single sign-on is set up for it
  | 'email_unconfirmed'
  | 'captcha' // missing, wrong or expired
  | 'wrong_code' // of the second factor or of a mail
  | 'second_factor_missing' // the policy requires one, but the account has none
  | 'second_factor_unusable' // the account has one of a kind that is not supported here
  | 'rate_limited'
  | 'mail_pause' // a mail was sent to this address a moment ago
  | 'mail_limited' // no further mail now: to this address, or of the project
  | 'disabled' // not supported by the provider: a disabled sign-in method, or signing out from here
  | 'expired' // a pending sign-in is unknown, expired or already used
  | 'denied' // the user or the social provider denied access
  | 'terminal' // the session is gone for good (revoked, expired, banned), or the account may not sign in at all
  | 'invalid_token'
  | 'transient' // network, overload, 5xx: the same call may succeed later
  | 'protocol' // an unreadable response

/**
 * How a provider refused one call: no outage and no limit. `by_code`: with its own error code, so our credentials are valid.
 * `by_status`: with a 4xx alone, which may as well be about every session, and come from a gateway.
 */
export type Refusal = 'by_code' | 'by_status'

/** Failure of a provider call. The message is for the log, never for a page; `cause` holds the response. */
export class ProviderError extends Error {
  readonly failure: ProviderFailure
  readonly retryAfterSeconds: number | undefined
  /** False when the provider may have done what was asked, for example when its response was lost. */
  readonly outcomeKnown: boolean
  readonly refused: Refusal | undefined

  constructor(
    failure: ProviderFailure,
    message: string,
    options: {
      cause?: unknown
      retryAfterSeconds?: number | undefined
      outcomeKnown?: boolean
      refused?: Refusal | undefined
    } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.name = 'ProviderError'
    this.failure = failure
    this.retryAfterSeconds = options.retryAfterSeconds
    this.outcomeKnown = options.outcomeKnown ?? true
    this.refused = options.refused
  }
}

/** `token_refused`: this token is no longer accepted, or has a successor, and a refresh may help. `ended`: the session or its user is gone. */
export type SessionLife = 'live' | 'token_refused' | 'ended'

/** The subject of a logout notice: a user, one of their sign-ins, or both. */
export interface LogoutNotice {
  id: string
  sub: string | undefined
  sid: string | undefined
}

/** A user who agreed in the web app: `url` brings the browser back here, as from a social sign-in whose `secret` stays on the server. */
export interface AppSignIn {
  url: string
  secret: string
  identity: Identity
  /** The user's own access token, with which the app is asked for their workspaces. */
  providerToken: string
  /** Identifies a proof that may be used once; undefined: it may be used again while it is valid. */
  singleUse?: string | undefined
}

/** The part of a session that {@link SessionProvider.probe} needs. Of a token that a caller presented, only that is known. */
export type ProbedSession = Pick<ProviderSession, 'accessToken' | 'userinfo'>

/** Result of {@link SessionProvider.probe}, with the user's current claims if the provider sends them. */
export interface SessionProbe {
  life: SessionLife
  claims?: Claims
}

/** Signs the web app's users in. Every method rejects with {@link ProviderError}. Unsupported methods are absent. */
export interface SessionProvider {
  issuer: string
  capabilities(): Promise<ProviderCapabilities>
  /** Sends an uncached request that needs no credentials. Resolves on any usable response, even a rate limit; rejects otherwise. */
  ping(): Promise<void>
  passwordSignIn?(input: {
    email: string
    password: string
    captchaToken: string | undefined
  }): Promise<SignInStep>
  /** Rejects with `invalid_credentials` for an address without an account. A link in the mail returns like a social sign-in. */
  emailStart?(input: {
    email: string
    callbackUrl: string
    captchaToken: string | undefined
  }): Promise<{ secret: string }>
  /** Rejects with `wrong_code`. */
  emailVerify?(input: { email: string; code: string }): Promise<SignInStep>
  /**
   * `secret` stays on the server until {@link SessionProvider.socialFinish}; `state` if the return has it: a new id of the sign-in.
   * With `isFresh` the provider is asked not to answer from an earlier sign-in, as far as its protocol can say so.
   */
  socialStart(input: {
    method: string
    callbackUrl: string
    isFresh?: boolean
  }): Promise<{ url: string; secret: string; state?: string }>
  /** For the company with that domain; returns like a social sign-in. Rejects with `unknown_domain`. */
  ssoStart?(input: {
    domain: string
    callbackUrl: string
    captchaToken: string | undefined
  }): Promise<{ url: string; secret: string }>
  /**
   * Checks the proof of a user who agreed in the web app, and prepares a sign-in that {@link SessionProvider.socialFinish} finishes.
   * The return has `state`. Rejects with `invalid_token` for a proof that is not a user's own.
   */
  appSignIn?(input: { proof: string; callbackUrl: string; state: string }): Promise<AppSignIn>
  /** Rejects with `expired` when the parameters belong to another `secret`. */
  socialFinish(input: { params: URLSearchParams; secret: string; callbackUrl: string }): Promise<SignInStep>
  /** Rejects with `wrong_code`. The returned session replaces the given one, which is no longer usable. */
  verifySecondFactor?(input: { session: ProviderSession; factorId: string; code: string }): Promise<SignIn>
  refresh(session: ProviderSession): Promise<ProviderSession>
  /** Checks signature, issuer, audience, role and time. Does not ask the provider whether the session is still live. */
  verify?(accessToken: string): Promise<Identity>
  /** {@link SessionProvider.verify} for a proof of the web app, which is a credential for the API of connections only. */
  verifyUser?(proof: string): Promise<Identity>
  /** Rejects with `transient` when the whole provider gives no clear response, with `protocol` when it may be this token. */
  probe?(session: ProbedSession): Promise<SessionProbe>
  /** `probed` is the last {@link SessionProvider.probe} result, if any. Does not verify anything again. */
  profileOf(of: ProfileSource, probed: Claims | undefined): Profile
  /** True when only {@link SessionProvider.probe} returns the user's current claims, and a refresh does not. */
  profileNeedsProbe: boolean
  /** Reads a notice of the provider (OpenID Connect Back-Channel Logout 1.0 section 2.6) or the web app. Not whether it came before. Rejects with `invalid_token`. */
  readLogout?(logoutToken: string): Promise<LogoutNotice>
  /**
   * Ends this session and no other; also resolves if it was over. Rejects with `invalid_token` when the access token must be
   * refreshed first, and with `disabled` when the provider cannot do it.
   */
  signOut(session: ProviderSession): Promise<void>
}
