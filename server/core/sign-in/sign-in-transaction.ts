import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type BrowserSealPorts, openForBrowser, sealForBrowser } from './browser-seal.ts'
import type { AuthorizationRequest } from '../authorization/authorization-request.ts'
import type { PendingDevice } from '../authorization/device-authorization-store.ts'

/**
 * The purpose of a sign-in: authorize the client that sent the browser here, authorize a device whose code the user typed (RFC
 * 8628; `userCode` formatted as shown to users), or manage connections.
 */
export type SignInPurpose =
  | { kind: 'authorization'; request: AuthorizationRequest }
  | { kind: 'device'; device: PendingDevice; userCode: string }
  | { kind: 'account' }

const kinds: ReadonlySet<unknown> = new Set<SignInPurpose['kind']>(['authorization', 'device', 'account'])

/**
 * Reads a sealed purpose; undefined if another version of this server sealed it in a different shape. Does not check its contents,
 * since only this server seals.
 */
export function readPurpose(value: unknown): SignInPurpose | undefined {
  const kind = (value as { kind?: unknown } | null | undefined)?.kind
  return kinds.has(kind) ? (value as SignInPurpose) : undefined
}

/** How long an open login page stays usable. Nothing is stored for it, so this may be generous. */
const pageTtlSeconds = 3600

const transactionUse = 'drawbridge login transaction'

/** Random value in the CSRF cookie: ties a login page, and its later steps, to the browser that opened it. */
export type BrowserBinding = string

/** Creates a binding of 256 random bits. */
export function createBrowserBinding(randomBytes: Runtime['randomBytes']): BrowserBinding {
  return encodeBase64url(randomBytes(32))
}

/** The state of a login page. */
export interface SignInTransaction {
  purpose: SignInPurpose
  /** Id of the sign-in waiting for its second factor; undefined on the page of the first step. */
  secondFactorId: string | undefined
}

/**
 * Seals the state of a login page for an hour, bound to `binding`. Purpose and pending sign-in are sealed together, so that a code
 * entered for one purpose cannot complete another.
 */
export function sealTransaction(
  transaction: SignInTransaction,
  binding: BrowserBinding,
  ports: BrowserSealPorts,
): string {
  const expiresAt = ports.runtime.now() + pageTtlSeconds
  return sealForBrowser(transaction, { use: transactionUse, binding, expiresAt }, ports)
}

/** Result of opening a login transaction. */
export type TransactionResult =
  | ({ kind: 'open'; binding: BrowserBinding } & SignInTransaction)
  | { kind: 'invalid' }
  | { kind: 'expired' }
  | { kind: 'foreign_browser' }

/**
 * Opens a value of {@link sealTransaction}. Refuses another browser, and a page open for more than an hour. A page of another
 * version of this server counts as expired.
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
