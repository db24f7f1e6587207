import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto'
import { decodeBase64url, decodeUtf8, encodeUtf8 } from '@drawbridge/shared/base64url.ts'

const ivLength = 12
const tagLength = 16

/** One 256-bit key of the ring, and its name in sealed values. */
export interface SealingKey {
  kid: string
  key: Uint8Array
}

/** The keys in use. They may change while serving: `refresh` reads them again from their source. */
export interface KeyRing {
  /** The first key seals; never empty. */
  keys(): readonly SealingKey[]
  refresh(): void
}

/** Creates a {@link KeyRing} that never changes. */
export function fixedKeyRing(keys: readonly SealingKey[]): KeyRing {
  if (keys.length === 0) throw new TypeError('A key ring holds at least one key.')
  return { keys: () => keys, refresh: () => {} }
}

/** Returns the `kid` of the key that sealed `sealed`. */
export function sealingKeyOf(sealed: string): string {
  return sealed.slice(0, Math.max(0, sealed.indexOf('.')))
}

/**
 * Authenticated encryption with a key ring: the first key seals, every key opens.
 *
 * `context` is authenticated but not stored: a value sealed for one row or purpose does not open for another. `open` returns
 * undefined for anything but an unmodified `seal` result under a key still in the ring.
 */
export interface Sealer {
  seal(plaintext: string, context: string): string
  open(sealed: string, context: string): string | undefined
}

/** AES-256-GCM; the text form is `kid.base64url(iv ciphertext tag)`. An unknown key id makes the ring refresh once. */
export function createSealer(ring: KeyRing, randomBytes: (length: number) => Uint8Array): Sealer {
  const find = (kid: string): Uint8Array | undefined =>
    ring.keys().find((candidate) => candidate.kid === kid)?.key
  return {
    seal: (plaintext, context) => {
      const [current] = ring.keys()
      if (!current) throw new TypeError('A key ring holds at least one key.')
      const bytes = encrypt(current.key, encodeUtf8(plaintext), context, randomBytes(ivLength))
      return `${current.kid}.${bytes.toString('base64url')}`
    },
    open: (sealed, context) => {
      const kid = sealingKeyOf(sealed)
      if (kid === '') return undefined
      if (!find(kid)) ring.refresh()
      const key = find(kid)
      const bytes = key && decodeBase64url(sealed.slice(kid.length + 1))
      return bytes && decrypt(key, bytes, context)
    },
  }
}

/**
 * Seals `plaintext` so that only a holder of `secret` can open it, not the database alone.
 *
 * `secret` must have 256 random bits (one of our tokens): its key is derived by one HMAC-SHA-256, which does not strengthen a weak
 * one (RFC 5869 section 3.3: from a uniform secret there is nothing to extract).
 */
export function sealUnderSecret(
  plaintext: string,
  secret: string,
  context: string,
  randomBytes: (length: number) => Uint8Array,
): string {
  const key = keyFromSecret(secret, context)
  return encrypt(key, encodeUtf8(plaintext), context, randomBytes(ivLength)).toString('base64url')
}

/** Opens a value of {@link sealUnderSecret}; undefined for another secret or context, or a damaged value. */
export function openUnderSecret(sealed: string, secret: string, context: string): string | undefined {
  const bytes = decodeBase64url(sealed)
  return bytes ? decrypt(keyFromSecret(secret, context), bytes, context) : undefined
}

/** Returns the SHA-256 of a high-entropy secret as base64url: the only form in which tokens, codes and client secrets are stored. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

function keyFromSecret(secret: string, context: string): Uint8Array {
  return createHmac('sha256', secret).update(context).digest()
}

function encrypt(key: Uint8Array, plaintext: Uint8Array, context: string, iv: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(encodeUtf8(context))
  return Buffer.concat([iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Uint8Array, bytes: Uint8Array, context: string): string | undefined {
  if (bytes.length < ivLength + tagLength) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivLength))
  decipher.setAAD(encodeUtf8(context))
  decipher.setAuthTag(bytes.subarray(bytes.length - tagLength))
  try {
    const body = bytes.subarray(ivLength, bytes.length - tagLength)
    return decodeUtf8(Buffer.concat([decipher.update(body), decipher.final()]))
  } catch {
    return undefined
  }
}
