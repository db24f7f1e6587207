import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Database } from '../database.ts'

/**
 * How refresh tokens look. 2: they name their session and turn, as those of recent projects do. 1: twelve characters
 * that say nothing, as those of older ones.
 */
export type RefreshTokenVersion = 1 | 2

/** A row of the table `session`. Times are epoch seconds. */
export interface SessionRow {
  id: string
  account_id: string
  aal: 'aal1' | 'aal2'
  amr: string
  refresh_key: Uint8Array
  refresh_version: RefreshTokenVersion
  /** The turn of the active refresh token. */
  refresh_counter: number
  /** Tokens of an earlier turn are never forgiven; above the counter: no token is good any more. */
  refresh_floor: number
  refreshed_at: number
  created_at: number
}

/** What a refresh token names; not to be believed before {@link isRefreshToken}. */
interface RefreshTokenClaim {
  sessionId: string
  counter: number
}

const LENGTH = 16 + 4 + 16
const OPAQUE_LENGTH = 12

/**
 * The refresh token of a session at a turn: session id, counter, and a MAC under the session's own key. Tokens are
 * derived, never stored: a rotation needs no row, and a replayed parent can be answered with the active token, which a
 * stored hash could not give back.
 */
function encodeRefreshToken(claim: RefreshTokenClaim, key: Uint8Array): string {
  const body = Buffer.alloc(LENGTH)
  Buffer.from(claim.sessionId.replaceAll('-', ''), 'hex').copy(body)
  body.writeUInt32BE(claim.counter, 16)
  computeMac(body, key).copy(body, 20)
  return body.toString('base64url')
}

/** The unverified content of a refresh token; undefined for any other text. */
function decodeRefreshToken(token: string): RefreshTokenClaim | undefined {
  const body = Buffer.from(token, 'base64url')
  if (body.length !== LENGTH || body.toString('base64url') !== token) return undefined
  const hex = body.subarray(0, 16).toString('hex')
  const sessionId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return { sessionId, counter: body.readUInt32BE(16) }
}

/** Whether the token was made with this key. */
function isRefreshToken(token: string, key: Uint8Array): boolean {
  const body = Buffer.from(token, 'base64url')
  return body.length === LENGTH && timingSafeEqual(body.subarray(20), computeMac(body, key))
}

function computeMac(body: Buffer, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(body.subarray(0, 20)).digest().subarray(0, 16)
}

/** The active refresh token of a session. */
export function refreshTokenOf(row: SessionRow): string {
  const claim = { sessionId: row.id, counter: row.refresh_counter }
  return row.refresh_version === 1
    ? opaqueToken(claim, row.refresh_key)
    : encodeRefreshToken(claim, row.refresh_key)
}

/** Stores the active token's hash if the token does not name its session. */
export function rememberToken(database: Database, row: SessionRow): void {
  if (row.refresh_version !== 1) return
  database.run(
    'INSERT INTO opaque_refresh_token (hash, session_id, counter) VALUES (?, ?, ?)',
    hashToken(refreshTokenOf(row)),
    row.id,
    row.refresh_counter,
  )
}

/**
 * The session and turn of a presented token, which may be a used one. `unknown`: its session is over. `malformed`: this
 * database never issued it, because it was tampered with or the database was restored from an older copy.
 */
export function findToken(
  database: Database,
  token: string,
): { row: SessionRow; counter: number } | 'unknown' | 'malformed' {
  const isOpaque = token.length === OPAQUE_LENGTH
  const claim = isOpaque ? findOpaque(database, token) : decodeRefreshToken(token)
  if (claim === undefined) return isOpaque ? 'unknown' : 'malformed'
  const row = database.get<SessionRow>('SELECT * FROM session WHERE id = ?', claim.sessionId)
  if (row === undefined) return 'unknown'
  const isGenuine =
    isOpaque || (isRefreshToken(token, row.refresh_key) && claim.counter <= row.refresh_counter)
  return isGenuine ? { row, counter: claim.counter } : 'malformed'
}

function findOpaque(database: Database, token: string): RefreshTokenClaim | undefined {
  const found = database.get<{ session_id: string; counter: number }>(
    'SELECT session_id, counter FROM opaque_refresh_token WHERE hash = ?',
    hashToken(token),
  )
  return found && { sessionId: found.session_id, counter: found.counter }
}

function opaqueToken({ sessionId, counter }: RefreshTokenClaim, key: Uint8Array): string {
  const mac = createHmac('sha256', key).update(`${sessionId} ${counter}`).digest()
  // Lower-case letters and digits only, like the real ones.
  return BigInt(`0x${mac.toString('hex')}`)
    .toString(36)
    .slice(-OPAQUE_LENGTH)
}

function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
