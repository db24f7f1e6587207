import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BrowserSeal } from './browser-seal.ts'
import { userOf } from '../session/grant.ts'
import type { Identity } from '../session/session-provider.ts'

const sessionTtlSeconds = 3600

/** A notice that the next page shows once. A fixed set: no text of a request gets onto the page. */
export type AccountNotice =
  | 'ended'
  | 'all_ended'
  | 'already_ended'
  | 'changed'
  | 'change_refused'
  | 'not_changed'
  | 'form_refused'
  | 'token_refused'
  | 'too_many_tokens'

/** Keeps the session within a cookie's size for any client name. */
const maxNameLength = 100

/** A user who signed in to manage their connections. Gives access to nothing else. */
export interface AccountSession {
  id: string
  userId: string
  sub: string
  email: string | undefined
  notice: { kind: AccountNotice; clientName?: string | undefined } | undefined
  /** An hour after signing in, regardless of activity; epoch seconds. */
  expiresAt: number
}

/** Adds a notice to the session, with the client's name if it concerns one. The name is untrusted, and truncated. */
export function withNotice(
  session: AccountSession,
  kind: AccountNotice,
  clientName?: string,
): AccountSession {
  return { ...session, notice: { kind, clientName: clientName?.slice(0, maxNameLength) } }
}

/** Starts the hour of a user who has just signed in at the provider with that issuer. */
export function createAccountSession(
  identity: Identity,
  providerIssuer: string,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
): AccountSession {
  const { id: userId, sub, email } = userOf(identity, providerIssuer)
  return {
    id: encodeBase64url(runtime.randomBytes(16)),
    userId,
    sub,
    email,
    notice: undefined,
    expiresAt: runtime.now() + sessionTtlSeconds,
  }
}

/**
 * Seals a session until its end. A copy of the cookies stays valid until then, even after the user has signed out. Does not check
 * whether the provider would still let the user in.
 */
export const accountSeal: BrowserSeal<AccountSession> = new BrowserSeal('drawbridge account session')

/** Seals the session's id into every form on the page, so that other sites cannot submit one. */
export const accountFormSeal: BrowserSeal<AccountSession['id']> = new BrowserSeal('drawbridge account form')
