import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { hashSecret, type Sealer } from '../seal.ts'

/** What sealing and opening for one browser needs from outside. */
export interface BrowserSealPorts {
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
}

/**
 * What a value is sealed for: `use` names what it may be opened as, `binding` is the random value that only its browser has,
 * `expiresAt` is epoch seconds.
 */
export interface BrowserSealTerms {
  use: string
  binding: string
  expiresAt: number
}

/**
 * `value` as text that its browser can neither read nor change, and that is useless in another browser, for another use
 * and after its end (login CSRF, RFC 9700 section 4.7). Nothing is stored for it, so it can be opened any number of times.
 */
export function sealForBrowser(
  value: unknown,
  { use, binding, expiresAt }: BrowserSealTerms,
  { sealer }: Pick<BrowserSealPorts, 'sealer'>,
): string {
  return sealer.seal(JSON.stringify({ value, bindingHash: hashSecret(binding), expiresAt }), use)
}

/** What opening a value found, with the `binding` that it was opened by. A foreign browser learns nothing about its end. */
export type BrowserSealOpening =
  | { kind: 'open'; value: unknown; binding: string }
  | { kind: 'invalid' }
  | { kind: 'expired' }
  | { kind: 'foreign_browser' }

/**
 * Inverse of {@link sealForBrowser}. Not checked: the shape of the value, which another version of this server may have
 * sealed; without one it is `undefined`.
 */
export function openForBrowser(
  sealed: string,
  { use, binding }: { use: string; binding: string | undefined },
  { sealer, runtime }: BrowserSealPorts,
): BrowserSealOpening {
  const opened = sealer.open(sealed, use)
  if (opened === undefined) return { kind: 'invalid' }
  const { value, bindingHash, expiresAt } = JSON.parse(opened) as {
    value?: unknown
    bindingHash: string
    expiresAt: number
  }
  if (binding === undefined || !constantTimeEqual(hashSecret(binding), bindingHash)) {
    return { kind: 'foreign_browser' }
  }
  return expiresAt > runtime.now() ? { kind: 'open', value, binding } : { kind: 'expired' }
}
