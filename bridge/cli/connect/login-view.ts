import type { Credential } from '../../credentials/credential.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import type { StoredLogin } from '../../credentials/credential-store.ts'
import { type LoginState, loginStateOf } from '../../oauth/tokens/stored-tokens.ts'
import { describeError } from '../failure/failure-text.ts'

export type LoginView = ReturnType<typeof loginView>

type KnownState = Exclude<LoginState, { kind: 'none' }>

/** Returns a login as `--json` prints it, without its tokens; names that a server chose come as plain text. */
export function stateView(state: KnownState) {
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
export function loginView(credential: Credential, now: number) {
  const { serverUrl, profile } = credential
  const state = loginStateOf(credential, now) as KnownState
  return { server: plainText(serverUrl), profile, ...stateView(state) }
}

export type UnreadableLogin = ReturnType<typeof describeUnreadable>

/** Describes an unreadable login as commands show it. `serverUrl`: its server, if known: only its content names it. */
export function describeUnreadable(
  { id, file, failure }: Extract<StoredLogin, { kind: 'unreadable' }>,
  serverUrl: string | undefined,
) {
  const { code, sentences, nextStep, exit } = describeError(failure, { serverUrl })
  const isNameless = failure.fault === 'corrupt' && serverUrl === undefined
  const next_step = isNameless ? 'Delete that file, and sign in again at its server.' : nextStep
  return { id, file, code, reason: sentences.join(' '), next_step, exit }
}
