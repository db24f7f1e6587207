import { createHmac } from 'node:crypto'

const STEP_SECONDS = 30
const DIGITS = 6
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Bytes in base32 without padding (RFC 4648 section 6), the form authenticator apps take a secret in. */
export function encodeBase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)])
    .join('')
}

/** The bytes of base32 text; letter case and padding do not matter. */
export function decodeBase32(text: string): Uint8Array {
  const letters = text.toUpperCase().replaceAll('=', '')
  const bits = Array.from(letters, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** The six-digit code of a base32 secret at an epoch second (RFC 6238 with HMAC-SHA-1 and 30 s steps). */
export function computeTotp(secret: string, epochSeconds: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(epochSeconds / STEP_SECONDS)))
  const mac = createHmac('sha1', decodeBase32(secret)).update(counter).digest()
  const offset = mac.readUInt8(mac.length - 1) & 0x0f
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** Whether a code is right now, or was one step ago, or will be in one (RFC 6238 section 5.2 allows the drift). */
export function verifyTotp(secret: string, code: string, epochSeconds: number): boolean {
  return [0, -STEP_SECONDS, STEP_SECONDS].some((drift) => computeTotp(secret, epochSeconds + drift) === code)
}

/** The `otpauth://` URI that an authenticator app reads from a QR code. */
export function totpUri(secret: string, issuer: string, accountName: string): string {
  const parameters = new URLSearchParams({
    algorithm: 'SHA1',
    digits: String(DIGITS),
    issuer,
    period: String(STEP_SECONDS),
    secret,
  })
  return `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(accountName)}?${parameters.toString()}`
}
