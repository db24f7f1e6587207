import type { Authorization, Refusal, RefusalOutcome } from '../http/authorization.ts'
import type { Credential } from '../credentials/credential.ts'

/**
 * The one way to tokens: for all calls and streams of this process, and for all processes of this user. Whatever happens,
 * a refresh token is used once.
 */
export interface TokenSource {
  /**
   * What to send; undefined when there is no login. Waits for a refresh that is due, and takes a new token of another
   * process. Rejects with {@link OAuthFailure} when the token has ended and cannot be renewed now, or `CredentialError`.
   */
  authorization(signal?: AbortSignal): Promise<Authorization | undefined>
  /** What follows from a refusal. Rejects like {@link TokenSource.authorization}. */
  refused(refusal: Refusal): Promise<RefusalOutcome>
}

/** A sign-in page on another host than that of the authorization server which names it, as hosts. */
export interface UnconfirmedPage {
  page: string
  namedBy: string
}

/**
 * How a person signs in. `unconfirmed`: nothing at the host of the page confirms that it belongs to whoever sends people there,
 * so the person is told both names, and the page is not opened by itself. `followed`: another process asked for it and shows it,
 * so this one opens no second tab.
 */
export type SignInPrompt =
  | { kind: 'browser'; url: string; unconfirmed?: UnconfirmedPage; followed?: true }
  | {
      kind: 'device'
      url: string
      completeUrl?: string
      userCode: string
      expiresAt: number
      /** The host of the MCP server. */
      askedBy: string
      unconfirmed?: UnconfirmedPage
      followed?: true
    }

/** A sign-in on its way, of this process or of another one that this process follows. */
export interface PendingSignIn {
  /** Resolves once it is known where the person has to go. Rejects when the sign-in ended before, or needed no person. */
  prompt: Promise<SignInPrompt>
  /**
   * Told of every prompt, also of a later one: when the process that this one followed is gone, this one goes on with a link
   * of its own. Without a listener it gives up then, as nobody would see that link.
   */
  onPrompt?(listener: (prompt: SignInPrompt) => void): void
  /** Resolves when the login is stored; rejects with {@link OAuthFailure}, or when `cancel` was called. */
  done: Promise<void>
  /** Gives up. Another process that follows may go on. */
  cancel(): void
}

/** The login of one server as one user. */
export interface Login extends TokenSource {
  /**
   * Starts a sign-in, or joins the one that is on its way in this or another process: never a second one for one login. The
   * refusals that {@link TokenSource.refused} was told of say what to ask for. `isForced`: a person asks for it although
   * there is a login.
   */
  signIn(options?: { isForced?: boolean }): PendingSignIn
  /** Revokes at the server what can be revoked (RFC 7009), then forgets everything. */
  signOut(): Promise<SignOutReport>
  /** What is known without asking anybody. */
  state(): Promise<LoginState>
  /**
   * To be awaited before the process ends: resolves when no token is on its way that would be lost, after 5 seconds at the
   * latest. Starts nothing, and does not wait for a person.
   */
  settle(): Promise<void>
}

/** What {@link Login.signOut} did. `revoked` is undefined where the server has no way to. */
interface SignOutReport {
  found: boolean
  /** False: it is forgotten all the same, but its tokens live on at the server. */
  readable: boolean
  revoked: boolean | undefined
}

/** A login as a person asks for it. Holds no secret. */
export type LoginState =
  | { kind: 'none' }
  | { kind: 'configured'; how: 'environment' | 'header' | 'client_credentials' }
  | {
      kind: 'signed_in' | 'sign_in_needed'
      issuer: string
      clientId: string
      scope: string | undefined
      /** Epoch seconds. */
      signedInAt: number
      expiresAt: number | undefined
      canRefresh: boolean
      reason: string | undefined
    }

/** All that an authorization server, or the way to it, can do wrong. Stable: exit codes and documentation go by it. */
export const oauthFaults = [
  // Nothing says where to sign in.
  'no_metadata',
  'bad_metadata',
  'issuer_mismatch',
  'issuer_changed',
  'resource_mismatch',
  'no_pkce',
  'no_registration',
  'registration_refused',
  'client_refused',
  'state_mismatch',
  'access_denied',
  'expired',
  'scope_refused',
  'refused',
  'unavailable',
  'no_callback_port',
  'timeout',
  'cancelled',
  'sign_in_needed',
] as const

/** One of {@link oauthFaults}. */
export type OAuthFault = (typeof oauthFaults)[number]

/**
 * A sign-in or a refresh that did not work. `description` of the server is in the message as a JSON string; no token, code,
 * state or secret ever is.
 */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure'
  readonly fault: OAuthFault
  readonly issuer: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** What to do, where more is known than the fault says. `{url}` stands for the server's. */
  readonly nextStep: string | undefined

  constructor(
    fault: OAuthFault,
    message: string,
    options: { issuer?: string; retryAfterSeconds?: number; nextStep?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.fault = fault
    this.issuer = options.issuer
    this.retryAfterSeconds = options.retryAfterSeconds
    this.nextStep = options.nextStep
  }
}

/** What a sign-in is for, as far as the server said. */
export interface SignInRequest {
  /** `resource_metadata` of the last bearer challenge (RFC 9728 section 5.1). */
  resourceMetadata?: string
  /** `scope` of the last bearer challenge: authoritative for what was asked. */
  challengeScope?: string
  /** The login so far, if any: its client is used again at the same issuer, and its scopes are asked for too. */
  previous?: Credential
  /** A person asks for it although there is a login: nothing is taken for granted that may be why. */
  isForced?: true
}

/** What is asked for, without what there was before. */
export type WantedSignIn = Omit<SignInRequest, 'previous'>

/** Told where the person has to go, as soon as everything that listens there is ready. */
export type AnnounceSignIn = (prompt: SignInPrompt) => void

/**
 * Signs in from the beginning: discovery, client identity, the grant of the configuration, and the tokens. Resolves with a
 * credential of generation 0 that nobody has stored. Rejects with `OAuthFailure` or `NetworkError`.
 */
export type SignInFlow = (
  request: SignInRequest,
  announce: AnnounceSignIn,
  signal: AbortSignal,
) => Promise<Credential>
