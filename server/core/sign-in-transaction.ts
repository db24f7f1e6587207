import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { constantTimeEqual } from '@drawbridge/shared/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { hashSecret, type Sealer } from './seal.ts'

/** How long an open login page stays usable. Nothing is stored for it, so this may be generous. */
const pageTtlSeconds = 3600

const transactionContext = 'drawbridge login transaction'

/** Random value kept in a cookie: ties a login page, and what follows from it, to the browser that opened it. */
export type BrowserBinding = string

/** A binding of 256 random bits. */
export function createBrowserBinding(randomBytes: Runtime['randomBytes']): BrowserBinding {
  return encodeBase64url(randomBytes(32))
}

/** What sealing and opening a login transaction needs from outside. */
export interface TransactionPorts {
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
}

/**
 * The authorization request as the login page carries it: sealed, so the browser can neither read nor change it, and
 * bound to `binding`, so a page made for one browser is useless in another (login CSRF, RFC 9700 section 4.7).
 */
export function sealTransaction(
  request: AuthorizationRequest,
  binding: BrowserBinding,
  ports: TransactionPorts,
): string {
  const payload = {
    request,
    bindingHash: hashSecret(binding),
    expiresAt: ports.runtime.now() + pageTtlSeconds,
  }
  return ports.sealer.seal(JSON.stringify(payload), transactionContext)
}

/** What opening a login transaction found. */
export type TransactionResult =
  | { kind: 'open'; request: AuthorizationRequest }
  | { kind: 'invalid' }
  | { kind: 'expired' }
  | { kind: 'foreign_browser' }

/** Inverse of {@link sealTransaction}, refusing another browser and a page that was open for more than an hour. */
export function openTransaction(
  sealed: string,
  binding: BrowserBinding | undefined,
  ports: TransactionPorts,
): TransactionResult {
  const opened = ports.sealer.open(sealed, transactionContext)
  if (opened === undefined) return { kind: 'invalid' }
  const payload = JSON.parse(opened) as {
    request: AuthorizationRequest
    bindingHash: string
    expiresAt: number
  }
  if (binding === undefined || !constantTimeEqual(hashSecret(binding), payload.bindingHash)) {
    return { kind: 'foreign_browser' }
  }
  return payload.expiresAt > ports.runtime.now()
    ? { kind: 'open', request: payload.request }
    : { kind: 'expired' }
}
