import type { AuthorizationPrompt, Refusal, RefusalOutcome } from '../http/http-client.ts'
import type { Credential } from '../credentials/credential.ts'

/** Provides tokens for all requests of this process and all processes of this user. Uses a refresh token only once. */
export interface TokenSource {
  /**
   * Returns the `Authorization` header to send, or undefined without a login. Waits for a due refresh. Rejects with {@link OAuthFailure} when the
   * token has expired and cannot be renewed now.
   */
  authorization(signal?: AbortSignal): Promise<string | undefined>
  /** Handles a refusal by the server. Rejects like {@link TokenSource.authorization}. */
  refused(refusal: Refusal): Promise<RefusalOutcome>
}

/** `followed`: another process started the sign-in and shows it, so this one opens no second tab. */
export type SignInPrompt = AuthorizationPrompt & { followed?: true }

/** A pending sign-in of this process, or of another one that it follows. */
export interface PendingSignIn {
  /** Resolves once the address for the user is known. Rejects when the sign-in ended earlier or needed no user. */
  prompt: Promise<SignInPrompt>
  /**
   * Receives every prompt, including later ones: when a followed process is gone, this one continues with a link of
   * its own. Without a listener it gives up then, since no user would see that link.
   */
  onPrompt?(listener: (prompt: SignInPrompt) => void): void
  /** Resolves when the login is stored. Rejects with {@link OAuthFailure}, or when `cancel` is called. */
  done: Promise<void>
  /** Gives up. Another process that follows may continue. */
  cancel(): void
}

/** Everything that can go wrong at an authorization server or on the way to it. Stable. */
export type OAuthFault =
  // No metadata says where to sign in.
  | 'no_metadata'
  | 'bad_metadata'
  // Something in front of the authorization server wants a browser.
  | 'blocked'
  | 'issuer_mismatch'
  | 'issuer_changed'
  | 'resource_mismatch'
  | 'no_pkce'
  | 'no_registration'
  | 'registration_refused'
  | 'redirect_refused'
  | 'client_refused'
  | 'access_denied'
  | 'expired'
  | 'scope_refused'
  | 'refused'
  | 'unavailable'
  | 'no_callback_port'
  | 'timeout'
  | 'cancelled'
  | 'sign_in_needed'

/** The message contains the server's `description` as a JSON string, and never a token, code, state or secret. */
export class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure'
  readonly fault: OAuthFault
  readonly issuer: string | undefined
  readonly retryAfterSeconds: number | undefined
  /** Next step for the user, where it is more specific than the fault. `{url}` stands for the server's URL. */
  readonly nextStep: string | undefined

  constructor(
    fault: OAuthFault,
    message: string,
    options: {
      issuer?: string | undefined
      retryAfterSeconds?: number | undefined
      nextStep?: string
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.fault = fault
    this.issuer = options.issuer
    this.retryAfterSeconds = options.retryAfterSeconds
    this.nextStep = options.nextStep
  }
}

/** Parameters of a sign-in, as far as the server gave them. */
export interface SignInRequest {
  /** `resource_metadata` of the last bearer challenge (RFC 9728 section 5.1). */
  resourceMetadata?: string | undefined
  /** `scope` of the last bearer challenge: authoritative for the refused request. */
  challengeScope?: string | undefined
  /** Schemes of the challenges, in lower case, where none is a bearer challenge. */
  otherSchemes?: readonly string[]
  /** The current login, if any: its client is reused at the same issuer, and its scopes are requested as well. */
  previous?: Credential | undefined
  /** The user asked to sign in although a login exists, so its stored assumptions are checked again. */
  isForced?: boolean
}

/** Called with the user's next step once everything is listening. */
export type AnnounceSignIn = (prompt: SignInPrompt) => void

/** Discovery, client, configured grant, tokens. Resolves with a credential of generation 0 that is not stored yet. */
export type SignInFlow = (
  request: SignInRequest,
  announce: AnnounceSignIn,
  signal: AbortSignal,
) => Promise<Credential>
