import type { Credential } from '../../credentials/credential.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import type { StoredLogin } from '../../credentials/credential-store.ts'
import { type LoginState, loginStateOf } from '../../oauth/tokens/stored-tokens.ts'
import type { ExitCode } from '../failure/failure-table.ts'
import { type Failure, describeError } from '../failure/failure-text.ts'

/** The state of a login as commands show it: without secrets, safe for a terminal. Times in epoch seconds. */
interface StateView {
  state: 'signed_in' | 'sign_in_needed'
  issuer: string
  client_id: string
  account: string | null
  scope: string | null
  signed_in_at: number
  expires_at: number | null
  renews: boolean
  reason: string | null
}

/** A stored login as commands show it. */
export interface LoginView extends StateView {
  server: string
  profile: string
}

type KnownState = Exclude<LoginState, { kind: 'none' }>

/** Returns a login as `--json` prints it, without its tokens; names that a server chose come as plain text. */
export function stateView(state: KnownState): StateView {
  return {
    state: state.kind,
    issuer: plainText(state.issuer),
    client_id: plainText(state.clientId),
    account: state.account === undefined ? null : plainText(state.account),
    scope: state.scope === undefined ? null : plainText(state.scope),
    signed_in_at: state.signedInAt,
    expires_at: state.expiresAt ?? null,
    renews: state.canRefresh,
    reason: state.reason === undefined ? null : plainText(state.reason),
  }
}

/** Describes a login without any request. An expired token counts as good while it can be renewed. */
export function loginView(credential: Credential, now: number): LoginView {
  const { serverUrl, profile } = credential
  const state = loginStateOf(credential, now) as KnownState
  return { server: plainText(serverUrl), profile, ...stateView(state) }
}

/** An unreadable login as commands show it. Its server is unknown, as only its content names it. */
export interface UnreadableLogin {
  id: string
  file: string
  code: Failure['code']
  /** Sentences. */
  reason: string
  next_step: string
  exit: ExitCode
}

/** Describes an unreadable login. `serverUrl`: its server, if known. */
export function describeUnreadable(
  { id, file, failure }: Extract<StoredLogin, { kind: 'unreadable' }>,
  serverUrl: string | undefined,
): UnreadableLogin {
  const { code, sentences, nextStep, exit } = describeError(failure, { serverUrl })
  const isNameless = failure.fault === 'corrupt' && serverUrl === undefined
  const next_step = isNameless ? 'Delete that file, and sign in again at its server.' : nextStep
  return { id, file, code, reason: sentences.join(' '), next_step, exit }
}
