import { scrypt, type ScryptOptions, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { AuthError } from '../auth-error.ts'

const keyBytes = 32
const minLength = 6
const maxBytes = 72
/** The default of scrypt in Node. */
const usualCost = 16_384

/** Refuses a password that the auth API would refuse: shorter than 6 characters or longer than 72 bytes. */
export function validatePassword(password: string): void {
  if (password.length < minLength) {
    throw new AuthError(422, 'weak_password', `Password should be at least ${minLength} characters.`)
  }
  if (Buffer.byteLength(password) > maxBytes) {
    throw new AuthError(400, 'validation_failed', `Password cannot be longer than ${maxBytes} characters`)
  }
}

/** Hashes a password as `scrypt$<cost>$<salt>$<key>`, off the main thread. */
export async function hashPassword(password: string, salt: Uint8Array, cost = usualCost): Promise<string> {
  const key = await deriveKey(password, salt, cost)
  return ['scrypt', cost, encodeBase64url(salt), encodeBase64url(key)].join('$')
}

/**
 * Returns whether the password matches the hash. Without a hash it does the same work and returns false, so that
 * response times do not reveal which addresses have an account.
 */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const [, cost = usualCost, salt = '', key = ''] = (hash ?? '').split('$')
  const expected = Buffer.from(key, 'base64url')
  const actual = await deriveKey(password, Buffer.from(salt, 'base64url'), Number(cost))
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

function deriveKey(password: string, salt: Uint8Array, cost: number): Promise<Buffer> {
  return promisify<string, Uint8Array, number, ScryptOptions, Buffer>(scrypt)(
    password.normalize('NFC'),
    salt,
    keyBytes,
    { cost },
  )
}
