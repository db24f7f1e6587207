import { createHash, createHmac } from 'node:crypto'
import type { Database } from './database.ts'
import {
  decodeRefreshToken,
  encodeRefreshToken,
  isRefreshToken,
  type RefreshTokenClaim,
} from './refresh-token.ts'
import type { SessionRow } from './session-row.ts'

const OPAQUE_LENGTH = 12

/** The active refresh token of a session, derived each time: a replayed parent is answered with it. */
export function refreshTokenOf(row: SessionRow): string {
  const claim = { sessionId: row.id, counter: row.refresh_counter }
  return row.refresh_version === 1
    ? opaqueToken(claim, row.refresh_key)
    : encodeRefreshToken(claim, row.refresh_key)
}

/** Notes an active token that does not say what it is of. */
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
 * What a presented token is of. It may still be a used one. `unknown` is a token of no living session; `malformed` one
 * that was not issued in this form by this database: tampered with, or newer than an older copy of it that was restored.
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
  // Lower-case letters and digits only, as in the field.
  return BigInt(`0x${mac.toString('hex')}`)
    .toString(36)
    .slice(-OPAQUE_LENGTH)
}

function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
