import type { PostgresDatabase, Statement } from './database.ts'
import { codeRetentionSeconds, deviceRetentionSeconds } from '../rules.ts'

// Each is one transaction of at most `limit` rows. Skips rows that others have locked: they are gone then, or due in the next
// round. As everywhere, sessions come after what they belong to.

function deletion(table: string, key: string, endsAt: string, more = ''): Statement {
  return {
    name: `collect_${table}`,
    text: `WITH over AS MATERIALIZED (
        SELECT ${key} FROM ${table} WHERE ${endsAt} <= $1 ${more}
        ORDER BY ${endsAt} LIMIT $2 FOR UPDATE SKIP LOCKED
      )
      DELETE FROM ${table} WHERE ${key} = ANY (ARRAY(SELECT ${key} FROM over)) RETURNING true AS gone`,
  }
}

/** Builds a {@link deletion} for rows with a provider session, which becomes due for sign-out. */
function deletionWithSession(table: string): Statement {
  return {
    name: `collect_${table}`,
    text: `WITH over AS MATERIALIZED (
        SELECT id FROM ${table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
      ), gone AS (
        DELETE FROM ${table} WHERE id = ANY (ARRAY(SELECT id FROM over)) RETURNING id
      ), due AS (
        UPDATE provider_session SET sign_out_due_at = $3, sign_out_since = $3
        WHERE grant_id = ANY (ARRAY(SELECT id FROM gone)) AND sign_out_due_at IS NULL
      )
      SELECT id FROM gone`,
  }
}

// Also deletes the refresh token whose use issued the access token: neither is needed any more.
const deleteAccessTokens: Statement = {
  name: 'collect_access_token',
  text: `WITH over AS MATERIALIZED (
      SELECT hash, replaces FROM access_token WHERE kept_until <= $1
      ORDER BY kept_until LIMIT $2 FOR UPDATE SKIP LOCKED
    ), used AS (
      DELETE FROM refresh_token WHERE hash = ANY (ARRAY(SELECT replaces FROM over)) AND used_at IS NOT NULL
    )
    DELETE FROM access_token WHERE hash = ANY (ARRAY(SELECT hash FROM over)) RETURNING true AS gone`,
}

const deleteOfEnded: Statement = {
  name: 'collect_refresh_tokens_of_ended_grants',
  text: `WITH over AS MATERIALIZED (
      SELECT id FROM grants WHERE ended_at <= $1 AND NOT tokens_collected
      ORDER BY ended_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ), gone AS (
      DELETE FROM refresh_token WHERE grant_id = ANY (ARRAY(SELECT id FROM over))
    )
    UPDATE grants SET tokens_collected = true WHERE id = ANY (ARRAY(SELECT id FROM over)) RETURNING true AS gone`,
}

const giveUpCodes: Statement = {
  name: 'give_up_codes',
  text: `WITH over AS MATERIALIZED (
      SELECT code_hash FROM authorization_code WHERE holds_session_until <= $1
      ORDER BY holds_session_until LIMIT $2 FOR UPDATE SKIP LOCKED
    ), given AS (
      UPDATE authorization_code SET holds_session_until = NULL WHERE code_hash = ANY (ARRAY(SELECT code_hash FROM over)) RETURNING grant_id
    ), due AS (
      UPDATE provider_session SET sign_out_due_at = $3, sign_out_since = $3 WHERE grant_id = ANY (ARRAY(SELECT grant_id FROM given))
    )
    SELECT grant_id FROM given`,
}

// Grants come last, after their tokens. A code is deleted once its session is a grant's or released.
const collections: readonly { statement: Statement; retention?: number; dueNow?: boolean }[] = [
  { statement: deletion('social_sign_in', 'id', 'expires_at') },
  { statement: deletion('attempt', 'key', 'window_ends_at') },
  { statement: deletion('device', 'device_hash', 'expires_at'), retention: deviceRetentionSeconds },
  { statement: deletion('client', 'id', 'expires_at') },
  { statement: deletionWithSession('second_factor'), dueNow: true },
  { statement: giveUpCodes, dueNow: true },
  {
    statement: deletion('authorization_code', 'code_hash', 'expires_at', 'AND holds_session_until IS NULL'),
    retention: codeRetentionSeconds,
  },
  { statement: deleteAccessTokens },
  { statement: deleteOfEnded },
  { statement: deletion('refresh_token', 'hash', 'expires_at') },
  { statement: deletionWithSession('grants'), dueNow: true },
]

/** Deletes or releases at most `limit` rows that expired before `now`, and returns how many. */
export async function collectFromPostgres(
  database: PostgresDatabase,
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
