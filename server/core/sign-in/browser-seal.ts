import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { hashSecret, type Sealer } from '../seal.ts'

/** Random value in the CSRF cookie: ties a login page, and its later steps, to the browser that opened it. */
export type BrowserBinding = string

/** Draws 256 random bits. */
export function createBrowserBinding(randomBytes: Runtime['randomBytes']): BrowserBinding {
  return encodeBase64url(randomBytes(32))
}

export interface BrowserSealPorts {
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
}

/** `use` limits what it opens as, `binding` is the random value of its browser, `expiresAt` is epoch seconds. */
export interface BrowserSealTerms {
  use: string
  binding: string
  expiresAt: number
}

/**
 * Seals `value` as text that its browser can neither read nor change, useless in another browser, for another use, and after it
 * expires (login CSRF, RFC 9700 section 4.7). Nothing is stored, so it can be opened any number of times.
 */
export function sealForBrowser(
  value: unknown,
  { use, binding, expiresAt }: BrowserSealTerms,
  { sealer }: Pick<BrowserSealPorts, 'sealer'>,
): string {
  return sealer.seal(JSON.stringify({ value, bindingHash: hashSecret(binding), expiresAt }), use)
}

/** Result of opening a value, with the `binding` that opened it. Another browser does not learn whether it has expired. */
export type BrowserSealOpening<Value> =
  | { kind: 'open'; value: Value; binding: string }
  | { kind: 'invalid' }
  | { kind: 'expired' }
  /** `value` is for the record only. */
  | { kind: 'foreign_browser'; value: Value }

/** Opens a value of {@link sealForBrowser}. Does not check its shape, since only this server seals: a new shape needs a new `use`. */
export function openForBrowser<Value>(
  sealed: string,
  { use, binding }: { use: string; binding: string | undefined },
  { sealer, runtime }: BrowserSealPorts,
): BrowserSealOpening<Value> {
  const opened = sealer.open(sealed, use)
  if (opened === undefined) return { kind: 'invalid' }
  const { value, bindingHash, expiresAt } = JSON.parse(opened) as {
    value: Value
    bindingHash: string
    expiresAt: number
  }
  if (binding === undefined || !constantTimeEqual(hashSecret(binding), bindingHash)) {
    return { kind: 'foreign_browser', value }
  }
  return expiresAt > runtime.now() ? { kind: 'open', value, binding } : { kind: 'expired' }
}
