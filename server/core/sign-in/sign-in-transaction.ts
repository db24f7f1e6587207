import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type BrowserSealPorts, openForBrowser, sealForBrowser } from './browser-seal.ts'
import type { AuthorizationRequest } from '../authorization/authorization-request.ts'
import type { PendingDevice } from '../authorization/device-authorization-store.ts'

/**
 * What a person signs in for: to authorize the client that sent the browser here, to authorize a device whose code
 * they typed (RFC 8628; `userCode` in the form that people are shown), or to manage their connections.
 */
export type SignInPurpose =
  | { kind: 'authorization'; request: AuthorizationRequest }
  | { kind: 'device'; device: PendingDevice; userCode: string }
  | { kind: 'account' }

const kinds: ReadonlySet<unknown> = new Set<SignInPurpose['kind']>(['authorization', 'device', 'account'])

/**
 * A purpose that was sealed, as it was; undefined for what another version of this server sealed in a shape of its own.
 * Not checked: what is in it, since only this server seals.
 */
export function readPurpose(value: unknown): SignInPurpose | undefined {
  const kind = (value as { kind?: unknown } | null | undefined)?.kind
  return kinds.has(kind) ? (value as SignInPurpose) : undefined
}

/** How long an open login page stays usable. Nothing is stored for it, so this may be generous. */
const pageTtlSeconds = 3600

const transactionUse = 'drawbridge login transaction'

/** Random value kept in a cookie: ties a login page, and what follows from it, to the browser that opened it. */
export type BrowserBinding = string

/** A binding of 256 random bits. */
export function createBrowserBinding(randomBytes: Runtime['randomBytes']): BrowserBinding {
  return encodeBase64url(randomBytes(32))
}

/** What a page of the login flow is about. */
export interface SignInTransaction {
  purpose: SignInPurpose
  /** Names the sign-in that waits for its second factor; undefined on the page of the first step. */
  secondFactorId: string | undefined
}

/**
 * What the page is about as it carries it, for an hour: sealed, and bound to `binding`. Purpose and half-way sign-in are sealed
 * as one, so that a code entered for one thing cannot complete another.
 */
export function sealTransaction(
  transaction: SignInTransaction,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): string {
  const expiresAt = ports.runtime.now() + pageTtlSeconds
  return sealForBrowser(transaction, { use: transactionUse, binding, expiresAt }, ports)
}

/** What opening a login transaction found. */
export type TransactionResult =
  | ({ kind: 'open'; binding: BrowserBinding } & SignInTransaction)
  | { kind: 'invalid' }
  | { kind: 'expired' }
  | { kind: 'foreign_browser' }

/**
 * Inverse of {@link sealTransaction}, refusing another browser and a page that was open for more than an hour. A page that
 * another version of this server made counts as expired.
 */
export function openTransaction(
  sealed: string,
  binding: BrowserBinding | undefined,
  ports: BrowserSealPorts,
): TransactionResult {
  const opening = openForBrowser(sealed, { use: transactionUse, binding }, ports)
  if (opening.kind !== 'open') return opening
  const { purpose, secondFactorId } = (opening.value ?? {}) as Partial<SignInTransaction>
  const known = readPurpose(purpose)
  const { binding: own } = opening
  return known ? { kind: 'open', purpose: known, secondFactorId, binding: own } : { kind: 'expired' }
}
