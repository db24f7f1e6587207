import { createHmac } from 'node:crypto'

const stepSeconds = 30
const digits = 6
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Encodes bytes in base32 without padding (RFC 4648 section 6), the form in which authenticator apps accept a secret. */
export function encodeBase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? [])
    .map((group) => alphabet[Number.parseInt(group.padEnd(5, '0'), 2)])
    .join('')
}

/** Decodes base32 text; letter case and padding do not matter. */
function decodeBase32(text: string): Uint8Array {
  const letters = text.toUpperCase().replaceAll('=', '')
  const bits = Array.from(letters, (letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  return Uint8Array.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}

/** Computes the six-digit code of a base32 secret at an epoch second (RFC 6238 with HMAC-SHA-1 and 30 s steps). */
export function computeTotp(secret: string, epochSeconds: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(epochSeconds / stepSeconds)))
  const mac = createHmac('sha1', decodeBase32(secret)).update(counter).digest()
  const offset = mac.readUInt8(mac.length - 1) & 0x0f
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, '0')
}

/** Returns whether a code is valid now, or one step earlier or later (RFC 6238 section 5.2 allows the drift). */
export function verifyTotp(secret: string, code: string, epochSeconds: number): boolean {
  return [0, -stepSeconds, stepSeconds].some((drift) => computeTotp(secret, epochSeconds + drift) === code)
}

/** Returns the `otpauth://` URI that an authenticator app reads from a QR code. */
export function totpUri(secret: string, issuer: string, accountName: string): string {
  const parameters = new URLSearchParams({
    algorithm: 'SHA1',
    digits: String(digits),
    issuer,
    period: String(stepSeconds),
    secret,
  })
  return `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(accountName)}?${parameters.toString()}`
}
