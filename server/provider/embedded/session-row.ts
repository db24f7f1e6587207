import type { RefreshTokenVersion } from './session-token.ts'

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
  /** Grows with every sign-in and refresh of anybody: tells what came later within one second. */
  activity: number
}
