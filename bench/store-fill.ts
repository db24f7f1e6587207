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
    for (const [name, keyOf] of Object.entries(keys))
      database.function(name, (number) => keyOf(Number(number)))
    // Safety is unnecessary: the store can be filled again.
    database.exec(
      'PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN',
    )
    for (const [table, columns] of Object.entries(changed)) copyRow(database, table, columns, count)
    database.exec('COMMIT; PRAGMA optimize')
  } finally {
    database.close()
  }
}

/** Functions of SQL. */
const keys = {
  grant_id: (number: number) => digest(`grant ${number}`).slice(0, 22),
  family_hash: (number: number) => hashSecret(filledFamily(number)),
  access_hash: (number: number) => hashSecret(`access token ${number}`),
  refresh_hash: (number: number) => tokenKey(filledRefreshToken(number)),
}

/** Columns that link rows: the existing ones have the number 1. An unused refresh token is its own successor. */
const links = Object.fromEntries(
  ['number', 'grant_number', 'first_refresh_token', 'successor', 'access_number'].map((name) => [
    name,
    'n + 2',
  ]),
)

/** What differs in the copies of a row: columns by table, with the SQL of copy `n`. */
const changed: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  grants: { ...links, id: 'grant_id(n)', family_hash: 'family_hash(n)' },
  provider_session: { grant_id: 'grant_id(n)' },
  access_token: { ...links, hash: 'access_hash(n)' },
  refresh_token: { ...links, hash: 'refresh_hash(n)' },
}

function copyRow(
  database: DatabaseSync,
  table: string,
  columns: Readonly<Record<string, string>>,
  count: number,
): void {
  const { rows } = database.prepare(`SELECT count(*) AS rows FROM ${table}`).get() as { rows: number }
  if (rows !== 1) throw new Error(`The table ${table} has ${rows} rows to copy instead of one.`)
  const described = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all()
  const names = described.map(({ name }) => String(name))
  const values = names.map((name) => columns[name] ?? `one.${name}`)
  database.exec(
    `WITH RECURSIVE copy(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM copy WHERE n + 1 < ${count})
     INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
     FROM copy, (SELECT * FROM ${table} LIMIT 1) AS one`,
  )
}

function digest(text: string): string {
  return encodeBase64url(createHash('sha256').update(text).digest())
}
