import { codeRetentionSeconds, deviceRetentionSeconds } from '../rules.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { releaseSession } from './ending.ts'

/** Deletes or releases at most `limit` rows that expired before `now`, and returns how many. Runs inside a write. */
export function collectFromSqlite(database: SqliteDatabase, now: number, limit: number): number {
  let collected = 0
  for (const collect of collectors) {
    if (collected < limit) collected += collect(database, now, limit - collected)
  }
  return collected
}

type Collector = typeof collectFromSqlite

function deletion(table: string, key: string, end = 'expires_at', retention = 0): Collector {
  const statement = `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${end} <= $1 LIMIT $2)
    RETURNING true AS gone`
  return (database, now, limit) => database.all(statement, [now - retention, limit]).length
}

/** Builds a {@link Collector} of a statement that returns whose sessions become due for sign-out. */
function release(statement: string): Collector {
  return (database, now, limit) => {
    const owners = database.all<{ id: string }>(statement, [now, limit])
    for (const { id } of owners) database.run(releaseSession, [id, now])
    return owners.length
  }
}

const deleteAccess = `DELETE FROM access_token WHERE number IN
    (SELECT number FROM access_token WHERE kept_until <= $1 LIMIT $2)
  RETURNING grant_number AS "grantNumber", replaces`

// A number may be reused once its row is gone; a grant's number never is.
const deleteUsed = `DELETE FROM refresh_token WHERE number = $1 AND grant_number = $2 AND successor <> number
  RETURNING successor`

const skipFirst = `UPDATE grants SET first_refresh_token = $2 WHERE number = $1 AND first_refresh_token <= $3`

/** Deletes expired access tokens, each with the used refresh token that brought it. */
const collectAccessTokens: Collector = (database, now, limit) => {
  const deleted = database.all<{ grantNumber: number; replaces: number | null }>(deleteAccess, [now, limit])
  for (const { grantNumber, replaces } of deleted) {
    if (replaces === null) continue
    const used = database.all<{ successor: number }>(deleteUsed, [replaces, grantNumber])[0]
    // The grant's first token is then the successor or a later one.
    if (used) database.run(skipFirst, [grantNumber, used.successor, replaces])
  }
  return deleted.length
}

/** A grant and the first of its refresh tokens. */
interface TokenChain {
  number: number
  id: string
  first: number | null
}

const chainOf = 'SELECT number, id, first_refresh_token AS "first" FROM grants'
const selectEnded = `${chainOf} WHERE ended_at IS NOT NULL AND first_refresh_token IS NOT NULL LIMIT 1`
const selectExpired = `${chainOf} WHERE expires_at <= $1 ORDER BY expires_at LIMIT 1`
const deleteToken = 'DELETE FROM refresh_token WHERE number = $1 RETURNING successor'
const setFirst = 'UPDATE grants SET first_refresh_token = $2 WHERE number = $1'
const deleteGrant = 'DELETE FROM grants WHERE number = $1'

/** Deletes at most `limit` refresh tokens of a grant, oldest first. Returns how many, and the one that is first then. */
function collectChain(database: SqliteDatabase, { first }: TokenChain, limit: number) {
  let deleted = 0
  let next = first
  while (next !== null && deleted < limit) {
    const row = database.all<{ successor: number }>(deleteToken, [next])[0]
    next = row && row.successor !== next ? row.successor : null
    if (row) deleted += 1
  }
  return { deleted, next }
}

/** Deletes refresh tokens of ended grants; the grant recognizes them by their family from then on. */
const collectEnded: Collector = (database, _, limit) => {
  let collected = 0
  while (collected < limit) {
    const grant = database.all<TokenChain>(selectEnded)[0]
    if (!grant) break
    const { deleted, next } = collectChain(database, grant, limit - collected)
    database.run(setFirst, [grant.number, next])
    collected += deleted
  }
  return collected
}

/** Deletes expired grants, the refresh tokens of each before itself. */
const collectGrants: Collector = (database, now, limit) => {
  let collected = 0
  while (collected < limit) {
    const grant = database.all<TokenChain>(selectExpired, [now])[0]
    if (!grant) break
    const { deleted, next } = collectChain(database, grant, limit - collected)
    collected += deleted
    if (collected === limit) {
      database.run(setFirst, [grant.number, next])
      break
    }
    database.run(releaseSession, [grant.id, now])
    database.run(deleteGrant, [grant.number])
    collected += 1
  }
  return collected
}

// Grants last, once none of their access tokens is left. A code is deleted once its session is a grant's or released.
const collectors: readonly Collector[] = [
  deletion('social_sign_in', 'id'),
  release(`DELETE FROM second_factor WHERE id IN (SELECT id FROM second_factor WHERE expires_at <= $1 LIMIT $2)
    RETURNING id`),
  deletion('attempt', 'key', 'window_ends_at'),
  deletion('attempt_steps', 'number'),
  deletion('device', 'device_hash', 'expires_at', deviceRetentionSeconds),
  release(`UPDATE authorization_code SET holds_session_until = NULL WHERE code_hash IN
    (SELECT code_hash FROM authorization_code WHERE holds_session_until <= $1 LIMIT $2) RETURNING grant_id AS id`),
  deletion('authorization_code', 'code_hash', 'expires_at', codeRetentionSeconds),
  collectAccessTokens,
  collectEnded,
  collectGrants,
  deletion('client', 'id'),
]
