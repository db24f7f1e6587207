import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Checks, fail, findingsOf, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { nearestExisting } from '../../config/setting-file.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { generatedKid, type StoreAddress, storeName } from '../../config/store-address.ts'
import { isLive } from '../../core/session/grant-pages.ts'
import { openStore } from '../../startup/open-store.ts'
import { readPostgresFailure } from '../../store/postgres/error.ts'
import { postgresMigrations, readPostgresSchema } from '../../store/postgres/postgres-schema.ts'
import { parsePostgresUrl } from '../../store/postgres/url.ts'
import { readSqliteVersion, sqliteMigrations } from '../../store/sqlite/sqlite-schema.ts'
import { isReadByAll } from './file-check.ts'

/** Findings about the store. `isRunning`: a server uses it; undefined if unknown. */
export interface StoreReport {
  findings: Finding[]
  isRunning: boolean | undefined
}

/** The settings to check the store against. */
export interface StoreUse {
  /** The key ring; undefined: it cannot be read. */
  kids: readonly string[] | undefined
  providerIssuer: string
  now: number
}

/** Checks that the store can be used, that these keys open everything in it, and that its users are this provider's. */
export async function checkStore(
  { store, providerIssuer }: Pick<ServerConfig, 'store' | 'providerIssuer'>,
  use: Omit<StoreUse, 'providerIssuer'>,
): Promise<StoreReport> {
  const readOn = async (schema: number, newest: number): Promise<Finding[]> =>
    findingsOf(contentChecks, await readContents(store, { schema, newest }, { ...use, providerIssuer }))
  try {
    switch (store.kind) {
      case 'memory': {
        const text = 'Everything is in memory: all connections end with the server.'
        const fix = 'Set DRAWBRIDGE_STORE=sqlite:PATH, or postgres://... for several servers.'
        return { findings: [{ name: 'store', ...warn(text, fix) }], isRunning: undefined }
      }
      case 'sqlite': {
        const facts = readSqlite(store.path)
        const contents = facts.schema === undefined ? [] : await readOn(facts.schema, sqliteMigrations.length)
        return { findings: [...findingsOf(sqliteChecks, facts), ...contents], isRunning: facts.isRunning }
      }
      case 'postgres': {
        const facts = await probePostgres(store.url)
        const contents = await readOn(facts.schema, postgresMigrations.length)
        return { findings: [...findingsOf(postgresChecks, facts), ...contents], isRunning: undefined }
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    const outcome = fail(
      `${storeName(store)} cannot be used: ${reason.replace(/\.$/, '')}.`,
      'Check DRAWBRIDGE_STORE, and that this machine and this account may use it; then run doctor again.',
    )
    return { findings: [{ name: 'store', ...outcome }], isRunning: undefined }
  }
}

/** What is in the store; `kids` and `used` are undefined if it has another schema than the newest, or the key ring cannot be read. */
export interface ContentFacts {
  schema: number
  newest: number
  kids?: readonly string[]
  /** The ids of the keys that seal its sessions. */
  used?: readonly string[]
  /** Another provider that has live connections, by its issuer. */
  otherProvider?: string | undefined
}

/** Reads the contents only if the schema is the newest: opening an older store would update it. */
async function readContents(
  address: StoreAddress,
  version: Pick<ContentFacts, 'schema' | 'newest'>,
  { kids, providerIssuer, now }: StoreUse,
): Promise<ContentFacts> {
  if (version.schema !== version.newest || kids === undefined) return version
  const store = openStore(address, { shared: true })
  try {
    // The first connections are enough: with a wrong provider setting all are foreign.
    const records = await store.listGrants(undefined, { after: '', limit: 1000 })
    const foreign = records.find(
      (record) => isLive(record, now) && !record.grant.user.id.startsWith(`${providerIssuer}#`),
    )
    const otherProvider = foreign?.grant.user.id.replace(/#.*/, '')
    return { ...version, kids, used: await store.listSealingKeys(), otherProvider }
  } finally {
    await store.close()
  }
}

function missingKeys({ kids, used }: ContentFacts): string[] {
  return (used ?? []).filter((kid) => !kids?.includes(kid))
}

/** @internal */
export const contentChecks: Checks<ContentFacts> = {
  'store-schema'({ schema, newest }) {
    if (schema === newest) return ok(`Schema ${schema}, the newest.`)
    const next = 'the next start, or drawbridge-server migrate,'
    return ok(
      schema === 0
        ? `No schema yet: ${next} creates it.`
        : `Schema ${schema}: ${next} brings it to ${newest}.`,
    )
  },
  'sealing-keys'(facts) {
    const { kids, used } = facts
    if (kids === undefined || used === undefined) return undefined
    const missing = missingKeys(facts)
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
  },
  'other-provider': (facts) =>
    facts.otherProvider === undefined || missingKeys(facts).length > 0
      ? undefined
      : fail(
          `The store holds connections of another provider, ${facts.otherProvider}: their clients get 503.`,
          'Correct DRAWBRIDGE_PROVIDER_URL; if the provider was changed on purpose, or these are from a trial, set DRAWBRIDGE_STORE to a new store: users then sign in again.',
        ),
}

// As in statfs(2): NFS, SMB, CIFS, SMB2.
const networkFileSystems = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42])

export interface SqliteFacts {
  path: string
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
  'store-network'({ path }) {
    const folder = nearestExisting(dirname(path))
    return networkFileSystems.has(statfsSync(folder).type)
      ? warn(
          `${folder} is on a network file system, where SQLite's locks may not hold.`,
          'Use a local disk, or DRAWBRIDGE_STORE=postgres://... for several machines.',
        )
      : undefined
  },
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
export async function probePostgres(url: string): Promise<PostgresFacts> {
  const { Client } = await import('pg')
  const address = parsePostgresUrl(url)
  const client = new Client(address.pool)
  // A broken connection also rejects the query.
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN READ ONLY')
    const schema = await readPostgresSchema(client, address.schema)
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
