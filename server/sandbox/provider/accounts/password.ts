import { scrypt, timingSafeEqual } from 'node:crypto'
import { AuthError } from '../auth-error.ts'

const COST = 16_384
const KEY_BYTES = 32
const MIN_LENGTH = 6
const MAX_BYTES = 72

/** Refuses a password that the auth API would refuse: shorter than 6 characters or longer than 72 bytes. */
export function validatePassword(password: string): void {
  if (password.length < MIN_LENGTH) {
    const message = `Password should be at least ${MIN_LENGTH} characters.`
    throw new AuthError(422, 'weak_password', message, { weak_password: { reasons: ['length'] } })
  }
  if (Buffer.byteLength(password) > MAX_BYTES) {
    throw new AuthError(400, 'validation_failed', `Password cannot be longer than ${MAX_BYTES} characters`)
  }
}

/** scrypt hash of a password as `scrypt$<salt>$<key>`, computed off the main thread. */
export async function hashPassword(password: string, salt: Uint8Array): Promise<string> {
  const key = await deriveKey(password, salt)
  return `scrypt$${Buffer.from(salt).toString('base64url')}$${key.toString('base64url')}`
}

/**
 * Whether the password belongs to the hash. An account without one (`undefined`) costs the same work and is always
 * false, so that the time of an answer does not tell which addresses have an account.
 */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  const [, salt = '', key = ''] = (hash ?? '').split('$')
  const expected = Buffer.from(key, 'base64url')
  const actual = await deriveKey(password, Buffer.from(salt, 'base64url'))
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

function deriveKey(password: string, salt: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, KEY_BYTES, { N: COST, r: 8, p: 1 }, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}
