import { type Checks, fail, findingsOf, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { generatedKid, storeName } from '../../config/store-address.ts'
import { isLive } from '../../core/session/grant-pages.ts'
import type { Store } from '../../core/store.ts'
import { openStore } from '../../startup/open-store.ts'
import { postgresMigrations, readPostgresSchema } from '../../store/postgres/postgres-schema.ts'
import { readSqliteVersion, sqliteMigrations } from '../../store/sqlite/sqlite-schema.ts'
import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { nearestExisting } from '../../config/setting-file.ts'
import { isReadByAll } from './file-check.ts'
import { readPostgresFailure } from '../../store/postgres/error.ts'
import { parsePostgresUrl } from '../../store/postgres/url.ts'

/** Findings about the store. `isRunning`: a server uses it; undefined if unknown. */
export interface StoreReport {
  findings: Finding[]
  isRunning: boolean | undefined
}

/** The settings to check the store against. */
export interface StoreUse {
  /** The key ring; undefined: it cannot be read. */
  kids: readonly string[] | undefined
  now: number
}

/** Checks that the store can be used, that these keys open everything in it, and that its users are this provider's. */
export async function checkStore(
  config: Pick<ServerConfig, 'store' | 'providerIssuer'>,
  use: StoreUse,
): Promise<StoreReport> {
  const { store } = config
  const only = (outcome: Outcome): StoreReport => ({
    findings: [{ name: 'store', ...outcome }],
    isRunning: undefined,
  })
  try {
    switch (store.kind) {
      case 'memory':
        return only(
          warn(
            'Everything is in memory: all connections end with the server.',
            'Set DRAWBRIDGE_STORE=sqlite:PATH, or postgres://... for several servers.',
          ),
        )
      case 'sqlite': {
        const facts = readSqlite(store.path)
        const contents = await checkContents(config, facts.schema, sqliteMigrations.length, use)
        return { findings: [...findingsOf(sqliteChecks, facts), ...contents], isRunning: facts.isRunning }
      }
      case 'postgres': {
        const facts = await askPostgres(store.url)
        const schema = facts.isStandby ? undefined : facts.schema
        const contents = await checkContents(config, schema, postgresMigrations.length, use)
        return { findings: [...findingsOf(postgresChecks, facts), ...contents], isRunning: undefined }
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    return only(
      fail(
        `${storeName(store)} cannot be used: ${reason.replace(/\.$/, '')}.`,
        'Check DRAWBRIDGE_STORE, and that this machine and this account may use it; then run doctor again.',
      ),
    )
  }
}

/** Checks the schema, and the contents only if it is the newest: opening an older store would update it. */
async function checkContents(
  { store: address, providerIssuer }: Pick<ServerConfig, 'store' | 'providerIssuer'>,
  schema: number | undefined,
  newest: number,
  { kids, now }: StoreUse,
): Promise<Finding[]> {
  if (schema === undefined) return []
  const findings: Finding[] = [{ name: 'store-schema', ...checkSchema(schema, newest) }]
  if (schema !== newest || kids === undefined) return findings
  const store = openStore(address, { shared: true })
  try {
    const keys = await checkSealingKeys(kids, store)
    const other = keys.state === 'fail' ? undefined : await checkProviderOfGrants(store, providerIssuer, now)
    return [
      ...findings,
      { name: 'sealing-keys', ...keys },
      ...(other ? [{ name: 'other-provider', ...other }] : []),
    ]
  } finally {
    await store.close()
  }
}

/**
 * Compares the keys that seal the store's sessions with `kids`, the ids in the key ring. New sessions are sealed with the first.
 *
 * @internal
 */
export async function checkSealingKeys(
  kids: readonly string[],
  store: Pick<Store, 'listSealingKeys'>,
): Promise<Outcome> {
  const used = await store.listSealingKeys()
  const missing = used.filter((kid) => !kids.includes(kid))
  if (missing.length > 0) {
    const isTrial = missing.every((kid) => kid === generatedKid)
    return fail(
      `The store holds sessions encrypted with ${missing.map((kid) => `\`${kid}\``).join(', ')}, which the key ring lacks: their clients get 503.`,
      isTrial
        ? 'They are from a trial in this store. Set DRAWBRIDGE_STORE to a new one: users then sign in again.'
        : 'Put it back at the end of the key ring; drawbridge-server keys list shows what it encrypted.',
    )
  }
  const old = used.filter((kid) => kid !== kids[0])
  if (old.length > 0) {
    const message = `Some stored sessions are still encrypted with older keys: ${old.join(', ')}.`
    return warn(message, 'drawbridge-server keys rotate')
  }
  return ok(
    used.length === 0
      ? 'No session is stored yet.'
      : `Every stored session is encrypted with the key \`${kids[0]}\`.`,
  )
}

/** Looks at the first connections only: with a wrong provider setting all are foreign. */
async function checkProviderOfGrants(
  store: Pick<Store, 'listGrants'>,
  issuer: string,
  now: number,
): Promise<Outcome | undefined> {
  const records = await store.listGrants(undefined, { after: '', limit: 1000 })
  const foreign = records.find(
    (record) => isLive(record, now) && !record.grant.user.id.startsWith(`${issuer}#`),
  )
  if (foreign === undefined) return undefined
  const other = foreign.grant.user.id.replace(/#.*/, '')
  return fail(
    `The store holds connections of another provider, ${other}: their clients get 503.`,
    'Correct DRAWBRIDGE_PROVIDER_URL; if the provider was changed on purpose, or these are from a trial, set DRAWBRIDGE_STORE to a new store: users then sign in again.',
  )
}

function checkSchema(found: number, newest: number): Outcome {
  if (found === newest) return ok(`Schema ${found}, the newest.`)
  const next = 'the next start, or drawbridge-server migrate,'
  return ok(
    found === 0 ? `No schema yet: ${next} creates it.` : `Schema ${found}: ${next} brings it to ${newest}.`,
  )
}

const littleBytes = 200_000_000
const noBytes = 10_000_000
// As in statfs(2): NFS, SMB, CIFS, SMB2.
const networkFileSystems = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42])

export interface SqliteFacts {
  path: string
  /** The nearest existing folder. */
  folder: string
  /** Undefined: the file does not exist. */
  schema: number | undefined
  /** True if a server has locked it. */
  isRunning: boolean
}

/**
 * Examines the file at `path`, which has passed `fileFaults`, and its folder. Creates nothing.
 *
 * @internal
 */
export function readSqlite(path: string): SqliteFacts {
  const isThere = existsSync(path)
  return {
    path,
    folder: nearestExisting(dirname(path)),
    schema: isThere ? readSqliteSchema(path) : undefined,
    isRunning: isThere && isClaimed(path),
  }
}

/** @internal */
export const sqliteChecks: Checks<SqliteFacts> = {
  store({ path, schema, isRunning }) {
    if (schema === undefined) return ok(`The first start creates ${path}.`)
    return ok(`${path} can be read and written; ${isRunning ? 'a' : 'no'} server is running.`)
  },
  'store-mode': ({ path, schema }) =>
    schema !== undefined && isReadByAll(path)
      ? warn(
          `Every user of this machine can read ${path}: who is connected, and hashes of tokens.`,
          `chmod 600 ${path}*`,
        )
      : undefined,
  'store-space'({ path, folder }) {
    const { bavail, bsize } = statfsSync(folder)
    const free = bavail * bsize
    const size = free < 1e10 ? `${Math.floor(free / 1e6)} MB` : `${Math.floor(free / 1e9)} GB`
    const text = `${size} free for ${path}`
    if (free < noBytes) return fail(`${text}: the disk is full.`, 'Make room there.')
    return free < littleBytes ? warn(`${text}.`, 'Make room there before it is full.') : ok(`${text}.`)
  },
  'store-network': ({ folder }) =>
    networkFileSystems.has(statfsSync(folder).type)
      ? warn(
          `${folder} is on a network file system, where SQLite's locks may not hold.`,
          'Use a local disk, or DRAWBRIDGE_STORE=postgres://... for several machines.',
        )
      : undefined,
}

/** Returns whether a server holds the lock beside the database. */
function isClaimed(path: string): boolean {
  if (!existsSync(`${path}.lock`)) return false
  const lock = new DatabaseSync(`${path}.lock`, { readOnly: true, timeout: 0 })
  try {
    lock.prepare('SELECT count(*) FROM sqlite_schema').get()
    return false
  } catch {
    return true
  } finally {
    lock.close()
  }
}

/** Returns the schema version of the existing SQLite file at `path`. Throws for a file written by a newer Drawbridge. */
export function readSqliteSchema(path: string): number {
  // A read-only connection would leave the files of the write-ahead log behind.
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    database.exec('PRAGMA query_only = 1')
    return readSqliteVersion(database)
  } finally {
    database.close()
  }
}

export interface PostgresFacts {
  url: string
  server: string
  synchronousCommit: string
  isStandby: boolean
  /** 0 without a schema of ours. */
  schema: number
}

/**
 * Queries the database at `url` on one connection, without changing anything. Rejects with a message without the password, also if this
 * version cannot use the database.
 */
export async function askPostgres(url: string): Promise<PostgresFacts> {
  const { Client } = await import('pg')
  const client = new Client(parsePostgresUrl(url).pool)
  // A broken connection also rejects the query.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN READ ONLY')
    const schema = await readPostgresSchema(client)
    const { rows } = await client.query<Omit<PostgresFacts, 'url' | 'schema'>>(
      `SELECT current_setting('server_version') AS server, current_setting('synchronous_commit') AS "synchronousCommit",
         pg_is_in_recovery() AS "isStandby"`,
    )
    return { ...rows[0]!, url, schema }
  } catch (error) {
    throw readPostgresFailure(error, decodeURIComponent(new URL(url).password)).cause
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Checks that the database can be used, and that commits survive a crash.
 *
 * @internal
 */
export const postgresChecks: Checks<PostgresFacts> = {
  store({ url, server, isStandby }) {
    const where = storeName({ kind: 'postgres', url })
    return isStandby
      ? fail(`${where} is a standby, which cannot be written.`, 'Set the address of the primary.')
      : ok(`${where} answers, PostgreSQL ${server}.`)
  },
  'store-durability': ({ synchronousCommit }) =>
    synchronousCommit === 'off'
      ? fail(
          'synchronous_commit is off: a crash can lose refresh tokens that are in use, which ends those connections.',
          'ALTER DATABASE ... SET synchronous_commit = on',
        )
      : ok(`synchronous_commit is ${synchronousCommit}.`),
}
