import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto'
import { decodeBase64url, decodeUtf8, encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'

const ivLength = 12
const tagLength = 16

/** One 256-bit key of the ring and the name under which sealed values refer to it. */
export interface SealingKey {
  kid: string
  key: Uint8Array
}

/**
 * Authenticated encryption with a key ring: the first key seals, every key opens.
 *
 * `context` is authenticated, not stored: a value sealed for one row or purpose does not open for another.
 * `open` answers undefined for anything that is not exactly what `seal` made under a key still in the ring.
 */
export interface Sealer {
  seal(plaintext: string, context: string): string
  open(sealed: string, context: string): string | undefined
}

/** AES-256-GCM {@link Sealer} over `ring`; the text form is `kid.base64url(iv ciphertext tag)`. */
export function createSealer(
  ring: readonly SealingKey[],
  randomBytes: (length: number) => Uint8Array,
): Sealer {
  const [current] = ring
  if (!current) throw new TypeError('A key ring holds at least one key.')
  const keys = new Map(ring.map(({ kid, key }) => [kid, key]))
  return {
    seal: (plaintext, context) =>
      `${current.kid}.${encodeBase64url(encrypt(current.key, encodeUtf8(plaintext), context, randomBytes(ivLength)))}`,
    open: (sealed, context) => {
      const dot = sealed.indexOf('.')
      const key = keys.get(sealed.slice(0, dot))
      const bytes = dot > 0 && key ? decodeBase64url(sealed.slice(dot + 1)) : undefined
      return key && bytes ? decrypt(key, bytes, context) : undefined
    },
  }
}

/**
 * Seals `plaintext` so that only a holder of `secret` opens it: the database alone cannot.
 *
 * `secret` must carry 256 random bits (a token of ours): HKDF-SHA-256 does not strengthen a weak one.
 */
export function sealUnderSecret(
  plaintext: string,
  secret: string,
  context: string,
  randomBytes: (length: number) => Uint8Array,
): string {
  return encodeBase64url(
    encrypt(keyFromSecret(secret, context), encodeUtf8(plaintext), context, randomBytes(ivLength)),
  )
}

/** Inverse of {@link sealUnderSecret}; undefined for another secret, context or a damaged value. */
export function openUnderSecret(sealed: string, secret: string, context: string): string | undefined {
  const bytes = decodeBase64url(sealed)
  return bytes ? decrypt(keyFromSecret(secret, context), bytes, context) : undefined
}

/** SHA-256 of a high-entropy secret as base64url: the only form in which tokens, codes and client secrets are stored. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

function keyFromSecret(secret: string, context: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', context, 32))
}

function encrypt(key: Uint8Array, plaintext: Uint8Array, context: string, iv: Uint8Array): Uint8Array {
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
