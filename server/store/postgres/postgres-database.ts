import type { Pool, PoolClient, QueryConfig } from 'pg'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { type PostgresFailure, readPostgresFailure } from './error.ts'
import { inSchema, migratePostgres } from './postgres-schema.ts'
import { decodeText, encodeText } from '../sql/storable-text.ts'
import { type SqlDatabase, type Values } from '../sql/sql.ts'
import { answerTimeoutMs, parsePostgresUrl, type PostgresAddress } from './url.ts'

/**
 * The database of the Postgres store. Rejects with `StoreUnavailableError` if a statement may work later, which includes a database
 * that refuses this account, and after `close`. Retries deadlocks and serialization failures, which leave nothing behind, twice. If
 * the connection breaks at once, `read` retries once on a new one; for `write`, the outcome is unknown.
 *
 * A statement is prepared once on each connection, with a cached plan. List columns, since a prepared `SELECT *` fails once a newer
 * instance has added one. Find rows of a second table by a key from a subquery, not by a join, and write `expires_at - $2 > 0` to
 * keep the expiry index out of it: both could be planned for the table sizes at the time of planning.
 */
export interface PostgresDatabase extends SqlDatabase {
  /**
   * Connects and migrates; does nothing once it has resolved. Rejects with a plain error when the address, the account or the
   * database must be changed first.
   */
  prepare(): Promise<void>
  close(): Promise<void>
}

const maxTries = 3
// A broken connection shows when it is used. Do not retry for callers that have waited longer.
const repeatWithinMs = 1000

/** Opens the database at `url`; throws for an invalid address. `pg` is loaded and connects on first use. */
export function openPostgresDatabase(url: string): PostgresDatabase {
  const address = parsePostgresUrl(url)
  const password = decodeURIComponent(new URL(url).password)
  const connections = openConnections(address, password)
  let prepared: Promise<PostgresFailure | undefined> | undefined
  const { schema } = address
  const placed = new Map<string, string>()

  function inPlace(statement: string): string {
    if (schema === undefined) return statement
    const known = placed.get(statement) ?? inSchema(schema, statement)
    placed.set(statement, known)
    return known
  }

  async function migrate(): Promise<PostgresFailure | undefined> {
    const outcome = await connections.use((client) => migratePostgres(client, undefined, schema))
    if ('result' in outcome) return undefined
    // The next call retries.
    prepared = undefined
    return outcome.failure
  }

  async function prepare(): Promise<void> {
    const failure = await (prepared ??= migrate())
    if (!failure) return
    const { kind, reason, cause } = failure
    if (kind === 'unavailable' || kind === 'conflict') throw unavailable(failure)
    throw new Error(`The database cannot be used: ${reason}`, { cause })
  }

  async function run<Row>(statement: string, values: Values, mayRepeat: boolean): Promise<Row[]> {
    const unprepared = await (prepared ??= migrate())
    if (unprepared) throw errorOf(unprepared)
    const query = queryOf(inPlace(statement), values, address.named)
    const began = performance.now()
    for (let tries = 1; ; tries += 1) {
      const outcome = await connections.use((client) => client.query<Record<string, unknown>>(query))
      if ('result' in outcome) return outcome.result.rows as Row[]
      const { failure, sent } = outcome
      const isStale = sent && failure.broken && performance.now() - began < repeatWithinMs
      if (failure.kind === 'conflict' ? tries < maxTries : mayRepeat && isStale && tries < 2) continue
      throw errorOf(failure)
    }
  }

  return {
    read: (statement, values = []) => run(statement, values, true),
    write: (statement, values = []) => run(statement, values, false),
    prepare,
    close: () => connections.close(),
  }
}

type Outcome<Result> = { result: Result } | { failure: PostgresFailure; sent: boolean }

function openConnections(address: PostgresAddress, password: string) {
  let pool: Promise<Pool> | undefined
  // A connection is suspect if it is as old as one that broke: a server that restarts drops them all. Suspects are not used again,
  // so that one restart costs one statement and not one per connection.
  let connections = 0
  let suspects = 0
  const ages = new WeakMap<PoolClient, number>()

  async function open(): Promise<Pool> {
    const { Pool } = await import('pg')
    const opened = new Pool({ ...address.pool, types: { getTypeParser: parserOf } })
    // Without a listener, an idle connection that breaks would end the process.
    opened.on('error', () => (suspects = connections))
    opened.on('connect', (client) => {
      // Its statement rejects as well; this handles errors between two statements.
      client.on('error', () => {})
      connections += 1
      ages.set(client, connections)
    })
    return opened
  }

  let closed: Promise<void> | undefined

  async function acquire(): Promise<PoolClient> {
    if (closed) throw new Error('The store is closed.')
    const opened = await (pool ??= open())
    for (;;) {
      const client = await opened.connect()
      if ((ages.get(client) ?? 0) > suspects) return client
      client.release(true)
    }
  }

  /** Runs `work` on a separate connection, and returns the failure if it fails. */
  async function use<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Outcome<Result>> {
    let client: PoolClient
    try {
      client = await acquire()
    } catch (error) {
      return { failure: readPostgresFailure(error, password), sent: false }
    }
    const youngest = connections
    try {
      const result = await work(client)
      client.release()
      return { result }
    } catch (error) {
      const failure = readPostgresFailure(error, password)
      if (failure.broken) suspects = Math.max(suspects, youngest)
      client.release(failure.broken)
      return { failure, sent: true }
    }
  }

  return {
    use,
    close: (): Promise<void> => (closed ??= pool ? pool.then((opened) => opened.end()) : Promise.resolve()),
  }
}

/** Returns the error an operation rejects with. Callers see a refusal as an outage: only the database's operators can fix it. */
function errorOf(failure: PostgresFailure): Error {
  const { kind, reason, cause } = failure
  return kind === 'fault' ? new Error(`The database failed: ${reason}`, { cause }) : unavailable(failure)
}

function unavailable({ reason, cause }: PostgresFailure): StoreUnavailableError {
  return new StoreUnavailableError(`The database cannot be used right now: ${reason}`, { cause })
}

const names = new Map<string, string>()

function nameOf(statement: string): string {
  const name = names.get(statement) ?? `drawbridge_${names.size + 1}`
  names.set(statement, name)
  return name
}

function queryOf(statement: string, values: Values, named: boolean): QueryConfig {
  const query = {
    ...(named ? { name: nameOf(statement) } : {}),
    text: statement,
    values: values.map((value) => (typeof value === 'string' ? encodeText(value) : value)),
    // Used by `pg` but missing in its types, for a server that disappeared without closing.
    query_timeout: answerTimeoutMs,
  }
  return query
}

// Types by OID: int8, int2, int4. All others are read as text.
const integers: ReadonlySet<number> = new Set([20, 21, 23])
const boolean = 16

/** Parses int8 as a number: counts and epoch seconds are far below 2^53. */
function parserOf(type: number): (stored: string) => unknown {
  if (integers.has(type)) return Number
  return type === boolean ? (stored) => stored === 't' : decodeText
}
