import { codeRetentionSeconds, deviceRetentionSeconds } from '../rules.ts'
import { releaseSessions } from '../sql/provider-sessions.ts'
import type { SqlDatabase } from '../sql/sql.ts'

// Each is one transaction of at most `limit` rows. Skips rows that others have locked: they are gone then, or due in the next
// round. As everywhere, sessions come after what they belong to.

function deletion(table: string, key: string, endsAt = 'expires_at', more = ''): string {
  return `WITH over AS MATERIALIZED (
      SELECT ${key} FROM ${table} WHERE ${endsAt} <= $1 ${more}
      ORDER BY ${endsAt} LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM ${table} WHERE ${key} = ANY (ARRAY(SELECT ${key} FROM over)) RETURNING true AS gone`
}

/** Builds a {@link deletion} for rows with a provider session, which becomes due for sign-out. */
function deletionWithSession(table: string): string {
  return `WITH gone AS (${deletion(table, 'id').replace('true AS gone', 'id')}), due AS (
      ${releaseSessions('= ANY (ARRAY(SELECT id FROM gone))', '$3')}
    )
    SELECT id FROM gone`
}

// Also deletes the refresh token whose use issued the access token: neither is needed any more.
const deleteAccessTokens = `WITH over AS MATERIALIZED (
      SELECT hash, replaces FROM access_token WHERE kept_until <= $1
      ORDER BY kept_until LIMIT $2 FOR UPDATE SKIP LOCKED
    ), used AS (
      DELETE FROM refresh_token WHERE hash = ANY (ARRAY(SELECT replaces FROM over)) AND used_at IS NOT NULL
    )
    DELETE FROM access_token WHERE hash = ANY (ARRAY(SELECT hash FROM over)) RETURNING true AS gone`

const deleteOfEnded = `WITH over AS MATERIALIZED (
      SELECT id FROM grants WHERE ended_at <= $1 AND NOT tokens_collected
      ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ), gone AS (
      DELETE FROM refresh_token WHERE grant_id = ANY (ARRAY(SELECT id FROM over))
    )
    UPDATE grants SET tokens_collected = true WHERE id = ANY (ARRAY(SELECT id FROM over)) RETURNING true AS gone`

const giveUpCodes = `WITH over AS MATERIALIZED (
      SELECT code_hash FROM authorization_code WHERE holds_session_until <= $1
      ORDER BY holds_session_until LIMIT $2 FOR UPDATE SKIP LOCKED
    ), given AS (
      UPDATE authorization_code SET holds_session_until = NULL WHERE code_hash = ANY (ARRAY(SELECT code_hash FROM over)) RETURNING grant_id
    ), due AS (
      ${releaseSessions('= ANY (ARRAY(SELECT grant_id FROM given))', '$3')}
    )
    SELECT grant_id FROM given`

// Grants come last, after their tokens. A code is deleted once its session is a grant's or released.
const collections: readonly { statement: string; retention?: number; dueNow?: boolean }[] = [
  { statement: deletion('social_sign_in', 'id') },
  { statement: deletion('attempt', 'key', 'window_ends_at') },
  { statement: deletion('attempt_steps', 'number') },
  { statement: deletion('device', 'device_hash'), retention: deviceRetentionSeconds },
  { statement: deletion('client', 'id') },
  { statement: deletionWithSession('second_factor'), dueNow: true },
  { statement: giveUpCodes, dueNow: true },
  {
    statement: deletion('authorization_code', 'code_hash', 'expires_at', 'AND holds_session_until IS NULL'),
    retention: codeRetentionSeconds,
  },
  { statement: deleteAccessTokens },
  { statement: deleteOfEnded },
  { statement: deletion('refresh_token', 'hash') },
  { statement: deletionWithSession('grants'), dueNow: true },
]

/** Deletes or releases at most `limit` rows that expired before `now`, and returns how many. */
export async function collectFromPostgres(
  database: SqlDatabase,
  now: number,
  limit: number,
): Promise<number> {
  let collected = 0
  for (const { statement, retention = 0, dueNow = false } of collections) {
    if (collected >= limit) break
    const values = [now - retention, limit - collected, ...(dueNow ? [now] : [])]
    collected += (await database.write(statement, values)).length
  }
  return collected
}
