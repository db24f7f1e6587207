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

/** Result of reading a value without its browser. */
type BrowserSealReading<Value> = ({ kind: 'open' | 'expired' } & SealedContent<Value>) | { kind: 'invalid' }

/** Result of opening a value, with the `binding` that opened it. Another browser does not learn whether it has expired. */
export type BrowserSealOpening<Value> =
  | { kind: 'open'; value: Value; binding: string }
  | { kind: 'invalid' }
  | { kind: 'expired' }
  /** `value` is for the record only. */
  | { kind: 'foreign_browser'; value: Value }

/** A value with the browser that it is for. Times are epoch seconds. */
export interface SealedContent<Value> {
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
    ports: BrowserSealPorts,
  ): BrowserSealOpening<Value> {
    const reading = this.read(sealed, ports)
    if (reading.kind === 'invalid') return reading
    const { kind, value, bindingHash } = reading
    if (binding === undefined || !constantTimeEqual(hashSecret(binding), bindingHash))
      return { kind: 'foreign_browser', value }
    return kind === 'open' ? { kind, value, binding } : { kind }
  }

  /** Opens a value that the browser gave to someone else, who sends it here. Does not check the browser. */
  read(sealed: string | null | undefined, { sealer, runtime }: BrowserSealPorts): BrowserSealReading<Value> {
    const opened = sealer.open(sealed ?? '', this.#use)
    if (opened === undefined) return { kind: 'invalid' }
    const content = JSON.parse(opened) as SealedContent<Value>
    return { kind: content.expiresAt > runtime.now() ? 'open' : 'expired', ...content }
  }
}
