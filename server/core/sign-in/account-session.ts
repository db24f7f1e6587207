import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type BrowserSealPorts, openForBrowser, sealForBrowser } from './browser-seal.ts'
import { userOf } from '../session/grant.ts'
import type { Identity } from '../session/session-provider.ts'
import type { BrowserBinding } from './sign-in-transaction.ts'

const sessionTtlSeconds = 3600

const sessionUse = 'drawbridge account session'
const formUse = 'drawbridge account form'

/** What the next look at the page says once. A fixed set: no text of a request gets onto the page. */
export type AccountNotice = 'ended' | 'all_ended' | 'already_ended' | 'form_refused'

/** Keeps the session within a cookie, whatever a client calls itself. */
const maxNameLength = 100

/** A user who signed in to manage their connections. It gives no access to anything else. */
export interface AccountSession {
  /** Names this sign-in; no two are the same. */
  id: string
  userId: string
  sub: string
  email: string | undefined
  notice: { kind: AccountNotice; clientName?: string | undefined } | undefined
  /** An hour after signing in, regardless of activity; epoch seconds. */
  expiresAt: number
}

/** The session with a notice, about the client of that name if it is about one. The name is untrusted, and cut. */
export function withNotice(
  session: AccountSession,
  kind: AccountNotice,
  clientName?: string,
): AccountSession {
  return { ...session, notice: { kind, clientName: clientName?.slice(0, maxNameLength) } }
}

/** The session of a user who has just signed in at the provider with that issuer. */
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
 * The session as its browser keeps it: sealed, and useless in another browser. Nothing is stored, so a copy of the browser's
 * cookies stays good until the hour is over, even when the person has signed out.
 */
export function sealAccountSession(
  session: AccountSession,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): string {
  const { expiresAt } = session
  return sealForBrowser(session, { use: sessionUse, binding, expiresAt }, ports)
}

/**
 * Inverse of {@link sealAccountSession}; undefined in another browser and after its end. Not checked: whether the provider
 * would still let the user in.
 */
export function openAccountSession(
  sealed: string | undefined,
  binding: BrowserBinding | undefined,
  ports: BrowserSealPorts,
): AccountSession | undefined {
  const opening = openForBrowser(sealed ?? '', { use: sessionUse, binding }, ports)
  const session = opening.kind === 'open' ? (opening.value as AccountSession | undefined) : undefined
  return session?.userId === undefined ? undefined : session
}

/** What every form of the page carries: good for this session in this browser only, so no other site can send one. */
export function sealAccountForm(
  session: AccountSession,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): string {
  const { id, expiresAt } = session
  return sealForBrowser(id, { use: formUse, binding, expiresAt }, ports)
}

/** Whether `sealed` is what {@link sealAccountForm} made for this session and browser. */
export function isAccountForm(
  sealed: string,
  session: AccountSession,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): boolean {
  const opening = openForBrowser(sealed, { use: formUse, binding }, ports)
  return opening.kind === 'open' && opening.value === session.id
}
