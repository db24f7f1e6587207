import type { Pool, PoolClient, QueryConfig } from 'pg'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { type PostgresFailure, readPostgresFailure } from './error.ts'
import { migratePostgres } from './schema.ts'
import { decodeText, encodeText } from './text.ts'
import { answerTimeoutMs, parsePostgresUrl } from './url.ts'

/**
 * One SQL statement. It is prepared once on each connection, under its name, and its plan is kept. So it lists its
 * columns, since a prepared `SELECT *` fails once a newer instance has added one. And rows of a second table are found by
 * a key from a subquery, not by a join, and `expires_at - $2 > 0` keeps the index of ends out of it: both could be
 * planned by the sizes that the tables had when the plan was made.
 */
export interface Statement {
  name: string
  text: string
}

/** Values of a statement's parameters. Texts may hold NUL. */
export type Values = readonly (string | number | null | undefined)[]

/**
 * Statements on a database, each in a transaction of its own. They reject with `StoreUnavailableError` when they may
 * work later, which includes a database that refuses this account, and after `close`. Deadlocks and serialization failures, of which nothing is left, are tried again twice.
 */
export interface PostgresDatabase {
  /** Rows of a statement that changes nothing. When the connection breaks at once it is tried once more, on a new one. */
  read<Row>(statement: Statement, values?: Values): Promise<Row[]>
  /** Rows that a changing statement returns. When the connection breaks, the outcome is unknown. */
  write<Row>(statement: Statement, values?: Values): Promise<Row[]>
  /**
   * Connects and migrates; once it has resolved there is nothing left to do. Rejects with a plain error when somebody
   * has to change the address, the account or the database first.
   */
  prepare(): Promise<void>
  close(): Promise<void>
}

const maxTries = 3
// A connection that is no good shows when it is used. Whoever has waited longer has waited enough.
const repeatWithinMs = 1000

/** Opens the database at `url`; throws when that is not an address. `pg` is loaded and connects on first use. */
export function openPostgresDatabase(url: string): PostgresDatabase {
  const address = parsePostgresUrl(url)
  const password = decodeURIComponent(new URL(url).password)
  let pool: Promise<Pool> | undefined
  let prepared: Promise<PostgresFailure | undefined> | undefined
  // A connection is a suspect when it is as old as one that broke: a server that restarts takes all with it. Suspects
  // are not used again, so that one restart costs one statement and not one for each connection.
  let connections = 0
  let suspects = 0
  const ages = new WeakMap<PoolClient, number>()

  async function open(): Promise<Pool> {
    const { Pool } = await import('pg')
    const opened = new Pool({ ...address.pool, types: { getTypeParser: parserOf } })
    // Without a listener an idle connection that breaks would end the process.
    opened.on('error', () => (suspects = connections))
    opened.on('connect', (client) => {
      // Its statement rejects as well; this is about the moments between two statements.
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

  const failureOf = (error: unknown): PostgresFailure => readPostgresFailure(error, password)

  /** Runs `work` on a connection of its own, and says with which failure it ended. */
  async function onConnection<Result>(
    work: (client: PoolClient) => Promise<Result>,
  ): Promise<{ result: Result } | { failure: PostgresFailure; sent: boolean }> {
    let client: PoolClient
    try {
      client = await acquire()
    } catch (error) {
      return { failure: failureOf(error), sent: false }
    }
    const youngest = connections
    try {
      const result = await work(client)
      client.release()
      return { result }
    } catch (error) {
      const failure = failureOf(error)
      if (failure.broken) suspects = Math.max(suspects, youngest)
      client.release(failure.broken)
      return { failure, sent: true }
    }
  }

  async function migrate(): Promise<PostgresFailure | undefined> {
    const outcome = await onConnection((client) => migratePostgres(client))
    if ('result' in outcome) return undefined
    // The next call tries again.
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

  async function run<Row>(statement: Statement, values: Values, mayRepeat: boolean): Promise<Row[]> {
    const unprepared = await (prepared ??= migrate())
    if (unprepared) throw errorOf(unprepared)
    const query = queryOf(statement, values, address.named)
    const began = performance.now()
    for (let tries = 1; ; tries += 1) {
      const outcome = await onConnection((client) => client.query<Row & Record<string, unknown>>(query))
      if ('result' in outcome) return outcome.result.rows
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
    close: () => (closed ??= pool ? pool.then((opened) => opened.end()) : Promise.resolve()),
  }
}

/** What an operation rejects with. A refusal is an outage to callers: only the database's operators can fix it. */
function errorOf(failure: PostgresFailure): Error {
  const { kind, reason, cause } = failure
  return kind === 'fault' ? new Error(`The database failed: ${reason}`, { cause }) : unavailable(failure)
}

function unavailable({ reason, cause }: PostgresFailure): StoreUnavailableError {
  return new StoreUnavailableError(`The database cannot be used right now: ${reason}`, { cause })
}

function queryOf({ name, text }: Statement, values: Values, named: boolean): QueryConfig {
  const query = {
    ...(named ? { name } : {}),
    text,
    values: values.map((value) => (typeof value === 'string' ? encodeText(value) : value)),
    // Read by `pg`, missing in its types: the server itself may have gone without a word.
    query_timeout: answerTimeoutMs,
  }
  return query
}

// Types by their OID: int8, int2, int4. All others are read as text.
const integers: ReadonlySet<number> = new Set([20, 21, 23])
const boolean = 16

/** Counts and epoch seconds are far below 2^53, so that an int8 is a number here. */
function parserOf(type: number): (stored: string) => unknown {
  if (integers.has(type)) return Number
  return type === boolean ? (stored) => stored === 't' : decodeText
}
