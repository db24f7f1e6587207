import type { Credential } from '../../credentials/credential.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import type { StoredLogin } from '../../credentials/credential-store.ts'
import type { ExitCode } from '../failure/command-failure.ts'
import { type Failure, describeError } from '../failure/failure-text.ts'
import { asTyped } from '../terminal/program-name.ts'

/** A stored login as commands show it: without secrets, safe for a terminal. Times in epoch seconds. */
export interface LoginView {
  server: string
  profile: string
  state: 'signed_in' | 'sign_in_needed'
  issuer: string
  client_id: string
  scope: string | null
  signed_in_at: number
  expires_at: number | null
  renews: boolean
  reason: string | null
}

/** Describes a login without any request. An expired token counts as good while it can be renewed. */
export function loginView(credential: Credential, now: number): LoginView {
  const { tokens, serverUrl, profile, issuer, client, signedInAt, signInNeeded } = credential
  const renews = tokens?.refreshToken !== undefined
  const reason = signInNeeded ?? reasonOf(tokens, now)
  return {
    server: plainText(serverUrl),
    profile,
    state: reason === undefined ? 'signed_in' : 'sign_in_needed',
    issuer: plainText(issuer),
    client_id: plainText(client.clientId),
    scope: tokens?.scope === undefined ? null : plainText(tokens.scope),
    signed_in_at: signedInAt,
    expires_at: tokens?.expiresAt ?? null,
    renews,
    reason: reason === undefined ? null : plainText(reason),
  }
}

function reasonOf(tokens: Credential['tokens'], now: number): string | undefined {
  if (tokens === undefined) return 'everything was refused'
  const hasEnded = tokens.expiresAt !== undefined && tokens.expiresAt <= now
  return hasEnded && tokens.refreshToken === undefined
    ? 'the access token has ended, and cannot be renewed'
    : undefined
}

/** An unreadable login as commands show it. Its server is unknown, as only its content names it. */
export interface UnreadableLogin {
  id: string
  file: string
  code: Failure['code']
  /** Sentences. */
  reason: string
  nextStep: string
  exit: ExitCode
}

/** Describes an unreadable login. `serverUrl`: its server, if known. */
export function describeUnreadable(
  { id, file, failure }: Extract<StoredLogin, { kind: 'unreadable' }>,
  serverUrl: string | undefined,
): UnreadableLogin {
  const { code, sentences, nextStep, exit } = describeError(failure, { serverUrl })
  // Only its id identifies it.
  const next = failure.fault === 'corrupt' ? asTyped(`drawbridge logout ${id}`) : nextStep
  return { id, file, code, reason: sentences.join(' '), nextStep: next, exit }
}
