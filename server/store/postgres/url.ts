import type { PoolConfig } from 'pg'

/** Options for `pg`, and whether statements may be named. */
export interface PostgresAddress {
  pool: PoolConfig
  named: boolean
  /** Name of the schema with our tables; undefined for the first of the `search_path`. */
  schema: string | undefined
}

const acquireTimeoutMs = 3000
const statementTimeoutMs = 5000
const idleTimeoutMs = 30_000

/** Client-side time-out: a little after the database itself cancels the statement. */
export const answerTimeoutMs: number = statementTimeoutMs + 1000

/**
 * Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE?...`; throws for an invalid address, without repeating any of it.
 *
 * Besides the parameters of `pg` (`sslmode`, `sslrootcert`, `options`, ...) accepts `pool_max`, connections of this process (1 to
 * 100, default 10), and `pooler=transaction` for a pooler in between: statements then have no names and connections no settings of
 * their own, since neither outlives a transaction there. `schema` names the schema with our tables, which is created if it is missing.
 *
 * Every `sslmode` but `disable` and `no-verify` checks the certificate and the host name, unless `uselibpqcompat=true` asks for the
 * weaker meanings of libpq.
 */
export function parsePostgresUrl(url: string): PostgresAddress {
  const address = parseUrl(url)
  const parameters = address.searchParams
  const max = take(parameters, 'pool_max') ?? '10'
  if (!/^[1-9]\d?$|^100$/.test(max)) throw invalid('pool_max is not a number from 1 to 100')
  const pooler = take(parameters, 'pooler')
  if (pooler !== undefined && pooler !== 'transaction') throw invalid('pooler is not "transaction"')
  const schema = take(parameters, 'schema')
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw invalid('schema is not a name of lower-case letters, digits and _')
  }
  const sslmode = parameters.get('sslmode')
  if (
    sslmode !== null &&
    /^(?:prefer|require|verify-ca)$/.test(sslmode) &&
    !parameters.has('uselibpqcompat')
  ) {
    // Equivalent for `pg`, which would print a warning about these words.
    parameters.set('sslmode', 'verify-full')
  }
  const options = take(parameters, 'options')
  return {
    named: pooler === undefined,
    schema,
    pool: {
      connectionString: address.href,
      max: Number(max),
      application_name: 'drawbridge',
      options: pooler === undefined ? connectionOptions(options) : options,
      connectionTimeoutMillis: acquireTimeoutMs,
      idleTimeoutMillis: idleTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    },
  }
}

/**
 * Sets connection options, as the database may have other defaults. Our statements require READ COMMITTED, and each finds its rows
 * by an index: a plan made while a table was tiny, and cached since, would read all of it.
 */
function connectionOptions(more: string | undefined): string {
  const ours = [
    `-c statement_timeout=${statementTimeoutMs}`,
    `-c idle_in_transaction_session_timeout=${statementTimeoutMs}`,
    String.raw`-c default_transaction_isolation=read\ committed`,
    '-c enable_seqscan=off',
  ]
  return [...ours, ...(more === undefined ? [] : [more])].join(' ')
}

function parseUrl(url: string): URL {
  const address = URL.parse(url)
  if (!address || !/^postgres(?:ql)?:$/.test(address.protocol)) throw invalid('it is not a postgres: URL')
  try {
    for (const part of [address.username, address.password, address.pathname]) decodeURIComponent(part)
  } catch {
    throw invalid('a "%" in it is not followed by two hexadecimal digits; write %25 for the sign itself')
  }
  return address
}

function take(parameters: URLSearchParams, name: string): string | undefined {
  const value = parameters.get(name) ?? undefined
  parameters.delete(name)
  return value
}

function invalid(reason: string): Error {
  return new Error(`The address of the database cannot be used: ${reason}.`)
}
