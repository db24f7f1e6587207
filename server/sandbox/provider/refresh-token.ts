import { createHmac, timingSafeEqual } from 'node:crypto'
import { formatUuid } from './uuid.ts'

const LENGTH = 16 + 4 + 16

/** What a refresh token says; it is not to be believed before `isRefreshToken`. */
export interface RefreshTokenClaim {
  sessionId: string
  counter: number
}

/**
 * The refresh token of a session at a counter: session id, counter, and a MAC under the session's own key. Tokens are
 * derived, never stored: the database needs no row a rotation, and a replayed parent can be answered with the active
 * token, which a stored hash could not give back.
 */
export function encodeRefreshToken(claim: RefreshTokenClaim, key: Uint8Array): string {
  const body = Buffer.alloc(LENGTH)
  Buffer.from(claim.sessionId.replaceAll('-', ''), 'hex').copy(body)
  body.writeUInt32BE(claim.counter, 16)
  computeMac(body, key).copy(body, 20)
  return body.toString('base64url')
}

/** The unverified content of a refresh token, or undefined when it has not the shape of one. */
export function decodeRefreshToken(token: string): RefreshTokenClaim | undefined {
  const body = Buffer.from(token, 'base64url')
  if (body.length !== LENGTH || body.toString('base64url') !== token) return undefined
  return { sessionId: formatUuid(body.subarray(0, 16)), counter: body.readUInt32BE(16) }
}

/** Whether the token was made with this key. */
export function isRefreshToken(token: string, key: Uint8Array): boolean {
  const body = Buffer.from(token, 'base64url')
  return body.length === LENGTH && timingSafeEqual(body.subarray(20), computeMac(body, key))
}

function computeMac(body: Buffer, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(body.subarray(0, 20)).digest().subarray(0, 16)
}
