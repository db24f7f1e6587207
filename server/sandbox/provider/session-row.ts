/**
 * How refresh tokens look. 2: they say which session and turn they are of, as those of recent projects. 1: twelve
 * characters that say nothing, as those of older ones.
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
  /** Grows with every sign-in and refresh of anybody: tells what came later within one second. */
  activity: number
}
