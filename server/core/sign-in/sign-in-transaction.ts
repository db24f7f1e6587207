import { BrowserSeal } from './browser-seal.ts'
import type { AuthorizationRequest } from '../authorization/authorization-request.ts'
import type { CountedAttempt } from '../limits/attempt-limit.ts'
import type { PendingDevice } from '../authorization/device-authorization-store.ts'

/** To authorize a client, to authorize a device by its code (RFC 8628), or to manage connections. `language` is a BCP 47 tag. */
export type SignInPurpose = { language: string } & (
  | ({ kind: 'authorization'; request: AuthorizationRequest } & ChosenScope)
  | ({ kind: 'device'; device: PendingDevice; userCode: string } & ChosenScope)
  | { kind: 'account' }
)

interface ChosenScope {
  /** What the user left of the requested scope; undefined until they have chosen. */
  chosen?: string | undefined
}

export interface EmailPrompt {
  id: string
  email: string
  sentAt: number
  /** Attempts given back when the mail is used. */
  counted: readonly CountedAttempt[]
}

export interface SignInTransaction {
  purpose: SignInPurpose
  /** The scopes with a box on the login page. */
  boxes?: readonly string[] | undefined
  /** The stored sign-in that waits for its second factor or its workspace; undefined on the page of the first step. */
  stored?: { waitsFor: 'second_factor' | 'workspace'; id: string } | undefined
  emailPrompt?: EmailPrompt | undefined
  /** The access rules refused the account that signed in last: cancelling then reports that to the client. */
  notAllowed?: true | undefined
}

/** Seals purpose and pending sign-in together: a code entered for one purpose cannot complete another. */
export const transactionSeal: BrowserSeal<SignInTransaction> = new BrowserSeal('drawbridge login transaction')
