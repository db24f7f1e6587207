import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { BackgroundWork } from '../background-work.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import type { StoredProviderSession } from '../session/grant.ts'
import type { ProviderSession, SessionProvider } from '../session/session-provider.ts'
import { openSessionOf, sealProviderSession } from '../session/session-seal.ts'
import type { SignInLimitPorts } from './sign-in-limit.ts'
import type { BrowserBinding } from './browser-seal.ts'

interface PendingSignIn {
  id: string
  /** Hash of the CSRF cookie: only the browser that began may continue. */
  bindingHash: string
  /** The data of the next step, as {@link sealPending} seals it. */
  sealed: string
  expiresAt: number
}

/** A sign-in that waits for its second factor. The authorization request travels with the page. */
export interface PendingSecondFactor extends PendingSignIn {
  /** The incomplete session; its `grantId` is `id`. */
  session: StoredProviderSession
}

/** A social sign-in that has left for the provider and not returned. */
export type PendingSocialSignIn = PendingSignIn

/** Stores sign-ins waiting for their second factor. An unclaimed session goes to the sign-out outbox. */
export interface SecondFactorStore {
  addSecondFactor(pending: PendingSecondFactor): Promise<void>
  /** Undefined if unknown, expired, of another browser, or after `max` attempts: then its session is due for sign-out. */
  attemptSecondFactor(
    attempt: { id: string; bindingHash: string; max: number },
    now: number,
  ): Promise<PendingSecondFactor | undefined>
  /** Removes it. Returns true for exactly one caller. With `signOut` its session becomes due for sign-out. */
  removeSecondFactor(id: string, signOut: boolean, now: number): Promise<boolean>
}

export interface SocialSignInStore {
  /** Adds a sign-in and keeps the newest `max` of its browser: each open tab has its own. */
  addSocialSignIn(pending: PendingSocialSignIn, max: number): Promise<void>
  listSocialSignIns(bindingHash: string, now: number): Promise<PendingSocialSignIn[]>
  removeSocialSignIn(id: string): Promise<boolean>
}

export interface SignInPorts extends SignInLimitPorts {
  store: SocialSignInStore & SecondFactorStore & SignInLimitPorts['store']
  provider: SessionProvider
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>
  callbackUrl: string
  background: Pick<BackgroundWork, 'add'>
}

/** Draws the id of a sign-in that waits: 128 random bits. */
export function createPendingId({ randomBytes }: Pick<Runtime, 'randomBytes'>): string {
  return encodeBase64url(randomBytes(16))
}

/** Begins to wait, for `seconds` and for the browser of `row` only. The seal covers the kind, the row and the browser. */
export function sealPending(
  kind: string,
  payload: unknown,
  row: Pick<PendingSignIn, 'id' | 'bindingHash'>,
  seconds: number,
  { sealer, runtime }: Pick<SignInPorts, 'sealer' | 'runtime'>,
): PendingSignIn {
  const sealed = sealer.seal(JSON.stringify(payload), contextOf(kind, row))
  return { ...row, sealed, expiresAt: runtime.now() + seconds }
}

/** Stores a sign-in with its session until its next step. Returns its id, which is the `grantId` of the session. */
export async function storePending(
  kind: string,
  pending: { payload: unknown; session: ProviderSession; binding: BrowserBinding; seconds: number },
  ports: SignInPorts,
): Promise<string> {
  const { runtime, sealer, store, provider } = ports
  const of = { id: createPendingId(runtime), bindingHash: hashSecret(pending.binding) }
  const row = sealPending(kind, pending.payload, of, pending.seconds, ports)
  const sessionRow = { grantId: row.id, version: 1, issuedAt: runtime.now() }
  const session = sealProviderSession({ ...pending.session, issuer: provider.issuer }, sessionRow, sealer)
  await store.addSecondFactor({ ...row, session })
  return row.id
}

/**
 * Finds a sign-in of {@link storePending}, which goes on waiting. Undefined if it is unknown, expired, of another browser, kind or key
 * ring, or after `max` attempts.
 */
export async function attemptPending(
  kind: string,
  { id, max, binding }: { id: string; max: number; binding: BrowserBinding },
  { store, runtime, provider, sealer }: SignInPorts,
): Promise<{ payload: unknown; session: ProviderSession } | undefined> {
  const pending = await store.attemptSecondFactor(
    { id, bindingHash: hashSecret(binding), max },
    runtime.now(),
  )
  const payload = pending && openPending(kind, pending, { sealer })
  const opening = pending && openSessionOf(provider.issuer, pending.session, sealer)
  return payload !== undefined && opening?.kind === 'opened'
    ? { payload, session: opening.session }
    : undefined
}

/** Opens the payload of {@link sealPending}; undefined when no key of the ring opens it. */
export function openPending(
  kind: string,
  pending: PendingSignIn,
  { sealer }: Pick<SignInPorts, 'sealer'>,
): unknown {
  const opened = sealer.open(pending.sealed, contextOf(kind, pending))
  return opened === undefined ? undefined : JSON.parse(opened)
}

function contextOf(kind: string, { id, bindingHash }: Pick<PendingSignIn, 'id' | 'bindingHash'>): string {
  return `drawbridge ${kind} ${id} ${bindingHash}`
}
