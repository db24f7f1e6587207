import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type BrowserBinding, type BrowserSealPorts, openForBrowser, sealForBrowser } from './browser-seal.ts'
import { userOf } from '../session/grant.ts'
import type { Identity } from '../session/session-provider.ts'

const sessionTtlSeconds = 3600

const sessionUse = 'drawbridge account session'
const formUse = 'drawbridge account form'

/** A notice that the next page shows once. A fixed set: no text of a request gets onto the page. */
export type AccountNotice = 'ended' | 'all_ended' | 'already_ended' | 'form_refused'

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

/** Nothing is stored: a copy of the cookies stays valid until the hour is over, even after the user has signed out. */
export function sealAccountSession(
  session: AccountSession,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): string {
  const { expiresAt } = session
  return sealForBrowser(session, { use: sessionUse, binding, expiresAt }, ports)
}

/** Undefined in another browser and after an hour. Does not check whether the provider would still let the user in. */
export function openAccountSession(
  sealed: string | undefined,
  binding: BrowserBinding | undefined,
  ports: BrowserSealPorts,
): AccountSession | undefined {
  const opening = openForBrowser<AccountSession>(sealed ?? '', { use: sessionUse, binding }, ports)
  return opening.kind === 'open' ? opening.value : undefined
}

/** Seals the token of every form on the page: valid only for this session in this browser, so that other sites cannot submit one. */
export function sealAccountForm(
  session: AccountSession,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): string {
  const { id, expiresAt } = session
  return sealForBrowser(id, { use: formUse, binding, expiresAt }, ports)
}

/** True for a form of this session in this browser. */
export function isAccountForm(
  sealed: string,
  session: AccountSession,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): boolean {
  const opening = openForBrowser(sealed, { use: formUse, binding }, ports)
  return opening.kind === 'open' && opening.value === session.id
}
