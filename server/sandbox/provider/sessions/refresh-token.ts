import { createHmac, timingSafeEqual } from 'node:crypto'

/** What a refresh token names; untrusted before {@link isRefreshToken}. */
export interface RefreshTokenClaim {
  sessionId: string
  counter: number
}

const length = 16 + 4 + 16

/**
 * Encodes the refresh token of a session at a counter: session id, counter, and a MAC under the session's own key. Tokens are
 * derived, never stored: a rotation needs no row, and replaying a parent can return the active token, which a stored hash could not
 * provide.
 */
export function encodeRefreshToken({ sessionId, counter }: RefreshTokenClaim, key: Uint8Array): string {
  const body = Buffer.alloc(length)
  Buffer.from(sessionId.replaceAll('-', ''), 'hex').copy(body)
  body.writeUInt32BE(counter, 16)
  computeMac(body, key).copy(body, 20)
  return body.toString('base64url')
}

/** Returns the unverified content of a refresh token; undefined for any other text. */
export function decodeRefreshToken(token: string): RefreshTokenClaim | undefined {
  const body = Buffer.from(token, 'base64url')
  if (body.length !== length || body.toString('base64url') !== token) return undefined
  const hex = body.subarray(0, 16).toString('hex')
  const sessionId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { sessionId, counter: body.readUInt32BE(16) }
}

/** Returns whether a decodable token was made with this key. */
export function isRefreshToken(token: string, key: Uint8Array): boolean {
  const body = Buffer.from(token, 'base64url')
  return timingSafeEqual(body.subarray(20), computeMac(body, key))
}

function computeMac(body: Buffer, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(body.subarray(0, 20)).digest().subarray(0, 16)
}
