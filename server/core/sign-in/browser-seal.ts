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

/** Result of reading a value without its browser. Times are epoch seconds. */
export type BrowserSealReading<Value> =
  | { kind: 'open'; value: Value; bindingHash: string; expiresAt: number }
  | { kind: 'invalid' }
  | { kind: 'expired' }

/** Result of opening a value, with the `binding` that opened it. Another browser does not learn whether it has expired. */
export type BrowserSealOpening<Value> =
  | { kind: 'open'; value: Value; binding: string }
  | { kind: 'invalid' }
  | { kind: 'expired' }
  /** `value` is for the record only. */
  | { kind: 'foreign_browser'; value: Value }

interface SealedContent<Value> {
  value: Value
  bindingHash: string
  expiresAt: number
}

/** How long an open page stays usable. Nothing is stored for it, so this may be generous. */
const pageSeconds = 3600

/**
 * Seals values of one kind as text that a browser can neither read nor change, useless in another browser, as another kind, and after
 * it expires (login CSRF, RFC 9700 section 4.7). Nothing is stored, so a text can be opened any number of times.
 */
export class BrowserSeal<Value> {
  readonly #use: string

  /** `use` names the kind. Opening does not check a value's shape, since only this server seals: a new shape needs a new `use`. */
  constructor(use: string) {
    this.#use = use
  }

  seal(
    value: Value,
    binding: BrowserBinding,
    { sealer, runtime }: BrowserSealPorts,
    expiresAt: number = runtime.now() + pageSeconds,
  ): string {
    return sealer.seal(JSON.stringify({ value, bindingHash: hashSecret(binding), expiresAt }), this.#use)
  }

  open(
    sealed: string | null | undefined,
    binding: BrowserBinding | undefined,
    { sealer, runtime }: BrowserSealPorts,
  ): BrowserSealOpening<Value> {
    const content = this.#contentOf(sealed, sealer)
    if (!content) return { kind: 'invalid' }
    const { value, bindingHash, expiresAt } = content
    if (binding === undefined || !constantTimeEqual(hashSecret(binding), bindingHash)) {
      return { kind: 'foreign_browser', value }
    }
    return expiresAt > runtime.now() ? { kind: 'open', value, binding } : { kind: 'expired' }
  }

  /** Opens a value that the browser gave to someone else, who sends it here. Does not check the browser. */
  read(sealed: string, { sealer, runtime }: BrowserSealPorts): BrowserSealReading<Value> {
    const content = this.#contentOf(sealed, sealer)
    if (!content) return { kind: 'invalid' }
    return content.expiresAt > runtime.now() ? { kind: 'open', ...content } : { kind: 'expired' }
  }

  #contentOf(sealed: string | null | undefined, sealer: Sealer): SealedContent<Value> | undefined {
    const opened = sealer.open(sealed ?? '', this.#use)
    return opened === undefined ? undefined : (JSON.parse(opened) as SealedContent<Value>)
  }
}
