import type { Credential } from '../credentials/credential.ts'
import type { SignInPrompt } from './login-port.ts'

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
