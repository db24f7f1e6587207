import { DatabaseSync } from 'node:sqlite'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { createHash } from 'node:crypto'
import { hashSecret } from '../server/core/seal.ts'
import { tokenKey } from '../server/core/tokens/token-issue.ts'

/** Returns the refresh token of grant `number` of a filled store; `number` starts at zero. */
export function filledRefreshToken(number: number): string {
  return `mcpr_0000000${filledFamily(number)}${digest(`refresh token ${number}`)}`
}

function filledFamily(number: number): string {
  return digest(`family ${number}`).slice(0, 22)
}

/**
 * Copies the single connection in the store at `path` until there are `count` more, each with its own grant, provider
 * session, access and refresh token. Uses SQL, because signing in a million times would take days: the rows are those
 * that the server wrote, except for their keys. No server may be using the store.
 */
export function fillStore(path: string, count: number): void {
  const database = new DatabaseSync(path)
  try {
    // Safety is unnecessary: the store can be filled again.
    database.exec(`PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;
      CREATE TEMP TABLE copy (number INTEGER, grant_id TEXT, family_hash TEXT, access_hash TEXT, refresh_hash TEXT);
      BEGIN;`)
    const insert = database.prepare('INSERT INTO copy VALUES (?, ?, ?, ?, ?)')
    for (let number = 0; number < count; number += 1) {
      insert.run(
        // The existing one has the number 1 everywhere.
        number + 2,
        digest(`grant ${number}`).slice(0, 22),
        hashSecret(filledFamily(number)),
        hashSecret(`access token ${number}`),
        tokenKey(filledRefreshToken(number)),
      )
    }
    copyRows(database, 'grants', { ...numbers, id: 'grant_id', family_hash: 'family_hash' })
    copyRows(database, 'provider_session', { grant_id: 'grant_id' })
    copyRows(database, 'access_token', { ...numbers, hash: 'access_hash' })
    copyRows(database, 'refresh_token', { ...numbers, hash: 'refresh_hash' })
    database.exec('COMMIT; PRAGMA optimize;')
  } finally {
    database.close()
  }
}

/** Columns that link rows. An unused refresh token is its own successor. */
const numbers = {
  number: 'number',
  grant_number: 'number',
  first_refresh_token: 'number',
  successor: 'number',
  access_number: 'number',
}

/** Copies the single row of `table`; `keys` maps its columns to columns of the copies. */
function copyRows(database: DatabaseSync, table: string, keys: Readonly<Record<string, string>>): void {
  const { rows } = database.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }
  if (rows !== 1) throw new Error(`The table ${table} has ${rows} rows to copy instead of one.`)
  const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all() as {
    name: string
  }[]
  const names = columns.map(({ name }) => name)
  const values = names.map((name) => (keys[name] === undefined ? `one.${name}` : `copy.${keys[name]}`))
  database.exec(
    `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
     FROM copy, (SELECT * FROM ${table} LIMIT 1) AS one ORDER BY copy.number`,
  )
}

function digest(text: string): string {
  return encodeBase64url(createHash('sha256').update(text).digest())
}
