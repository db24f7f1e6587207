import type { Credential } from '../../credentials/credential.ts'
import type { LoginState } from '../login-port.ts'
import { hasEnded } from '../tokens/refresh-pace.ts'

/** What is sent for a login; undefined when there are no tokens. */
export function loginHeader(credential: Credential, useIdToken: boolean): string | undefined {
  const { tokens } = credential
  if (tokens === undefined) return undefined
  return `Bearer ${useIdToken ? (tokens.idToken ?? tokens.accessToken) : tokens.accessToken}`
}

/** What a person is told of a stored login. Says nothing of whether the server still takes it. */
export function loginStateOf(credential: Credential | undefined, now: number): LoginState {
  if (credential === undefined) return { kind: 'none' }
  const { tokens, signedInAt, issuer } = credential
  const reason = whyNot(credential, now)
  return {
    kind: reason === undefined ? 'signed_in' : 'sign_in_needed',
    issuer,
    clientId: credential.client.clientId,
    scope: tokens?.scope,
    signedInAt,
    expiresAt: tokens?.expiresAt,
    canRefresh: reason === undefined && tokens?.refreshToken !== undefined,
    reason,
  }
}

/** The error code of the server, or a sentence of ours. */
function whyNot({ tokens, signInNeeded }: Credential, now: number): string | undefined {
  if (signInNeeded !== undefined) return signInNeeded
  if (tokens === undefined) return 'there are no tokens'
  const isOver = tokens.refreshToken === undefined && hasEnded(tokens, now)
  return isOver ? 'the token has ended, and there is none to renew it with' : undefined
}
