import { BrowserSeal } from './browser-seal.ts'
import type { AuthorizationRequest } from '../authorization/authorization-request.ts'
import type { CountedAttempt } from '../limits/attempt-limit.ts'
import type { TokenWish } from '../tokens/personal-token.ts'
import type { ScopeBox } from './scope-choice.ts'
import type { PendingDevice } from '../authorization/device-authorization-store.ts'

/** To authorize a client, or a device by its code (RFC 8628). */
export type ClientPurpose = {
  /** The boxes of the login page, as they were left; undefined until it is shown, and without optional scopes. */
  boxes?: readonly ScopeBox[] | undefined
  /** The grant of the last choice in this browser. */
  replaces?: string | undefined
  /** The workspace that was chosen in the web app. */
  workspaceId?: string | undefined
} & (
  | { kind: 'authorization'; request: AuthorizationRequest }
  | { kind: 'device'; device: PendingDevice; userCode: string }
)

/** Returns the client that a sign-in is for. */
export function clientIdOf(purpose: ClientPurpose): string {
  return purpose.kind === 'authorization' ? purpose.request.clientId : purpose.device.clientId
}

/** Returns the scope that a client asked for. */
export function askedScope(purpose: ClientPurpose): string {
  return purpose.kind === 'authorization' ? purpose.request.scope : purpose.device.scope
}

/** To manage one's connections; with `token` to make one. */
export interface AccountPurpose {
  kind: 'account'
  token?: TokenWish | undefined
}

/** To let a client in, or to manage connections. `language` is a BCP 47 tag. */
export type SignInPurpose = { language: string } & (ClientPurpose | AccountPurpose)

export interface EmailPrompt {
  id: string
  email: string
  sentAt: number
  /** Attempts given back when the mail is used. */
  counted: readonly CountedAttempt[]
}

export interface SignInTransaction {
  purpose: SignInPurpose
  /** The stored sign-in that waits for its second factor or its workspace; undefined on the page of the first step. */
  stored?: { waitsFor: 'second_factor' | 'workspace'; id: string } | undefined
  emailPrompt?: EmailPrompt | undefined
  /** The access rules refused the account that signed in last: cancelling then reports that to the client. */
  notAllowed?: true | undefined
}

/** Returns whether a page begins a sign-in, and so has the boxes. */
export function isFirstPage({ stored, emailPrompt }: Omit<SignInTransaction, 'purpose'>): boolean {
  return stored === undefined && emailPrompt === undefined
}

/** Seals purpose and pending sign-in together: a code entered for one purpose cannot complete another. */
export const transactionSeal: BrowserSeal<SignInTransaction> = new BrowserSeal('drawbridge login transaction')
