import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { resealOwnerPrefix } from '../../core/session/session-seal.ts'
import type { PendingSignOut } from '../../core/session/sign-out-worker.ts'
import type { Store } from '../../core/store.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { createPrivateFile, lockBeside, makeDataFolder } from '../data-file.ts'
import { createAttemptSteps } from '../sql/attempt-rows.ts'
import { createClients } from '../sql/clients.ts'
import { createCodeReads } from '../sql/codes.ts'
import { createDevices } from '../sql/devices.ts'
import { createGrantReads } from '../sql/grants.ts'
import {
  createProviderSessions,
  sessionColumns,
  signOutOf,
  type SignOutRow,
} from '../sql/provider-sessions.ts'
import { createSignIns, writeProbe } from '../sql/sign-ins.ts'
import { createSqliteCodes } from './sqlite-codes.ts'
import { collectFromSqlite } from './sqlite-collection.ts'
import { createSqliteDatabase, type SqliteDatabase } from './sqlite-database.ts'
import { createSqliteGrants } from './sqlite-grants.ts'
import { checkSqliteSchema, migrateSqlite } from './sqlite-schema.ts'
import { createSqliteSecondFactors } from './sqlite-second-factors.ts'
import { createSqliteTokens } from './sqlite-tokens.ts'
import { createSqliteWork, type SqliteWork } from './work.ts'

/** How long a command next to a running server waits before each commit, so that the server can write in between. */
const sharedPauseMs = 20
const minFreeBytes = 64 * 1024

/**
 * Opens the {@link Store} in one SQLite file, for a single server process. Statements bind by position, with `?` only: the oldest
 * supported Node misbinds numbered parameters.
 *
 * Write-ahead log with synchronous=FULL: what resolved survives a power cut. Opening ends the leases of a process that died, since
 * only one server uses the file. Throws when the file cannot be opened, is in use or too new.
 *
 * `shared` is for a maintenance command next to the server, and leaves all that to the server: it claims nothing, changes no lease,
 * and throws if there is no database or it has another schema.
 */
export function openSqliteStore(path: string, { shared = false }: { shared?: boolean } = {}): Store {
  if (shared && !existsSync(path)) throw new Error(`There is no database at ${path}.`)
  const release = shared ? () => {} : claim(path)
  let database: DatabaseSync | undefined
  const close = (): void => {
    database?.close()
    release()
  }
  try {
    database = new DatabaseSync(path)
    prepareDatabase(database, shared)
    return createStore(database, createSqliteWork(database, shared ? sharedPauseMs : 0), close, dirname(path))
  } catch (error) {
    close()
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`The database ${path} cannot be used: ${reason}`, { cause: error })
  }
}

/** Opens a {@link Store} in SQLite without a file, for tests and trials. Closing it deletes everything. */
export function openMemoryStore(): Store {
  const database = new DatabaseSync(':memory:')
  prepareDatabase(database, false)
  return createStore(database, createSqliteWork(database), () => database.close())
}

/** Creates the file if there is none and locks out other servers; returns the release. */
function claim(path: string): () => void {
  makeDataFolder(dirname(path))
  createPrivateFile(path)
  const stopIt = 'Stop it first, or give this one another file: --store sqlite:PATH.'
  return lockBeside(path, `Another Drawbridge uses ${path}. ${stopIt}`)
}

function prepareDatabase(database: DatabaseSync, shared: boolean): void {
  // One transaction of the maximum number of writes fits in the cache; a bigger cache costs more than it saves.
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192')
  if (shared) {
    checkSqliteSchema(database)
  } else {
    // A log that a migration or a long backup made grow is truncated to this many bytes.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 67108864')
    migrateSqlite(database)
    // Keeps the number of leases with unknown outcome: the process may have died after the provider refreshed. Keeps leases of a
    // maintenance command: it may be running while a server restarts.
    database.exec(
      `UPDATE provider_session SET lease_owner = NULL, lease_until = 0
       WHERE lease_until > 0 AND COALESCE(lease_owner, '') NOT LIKE '${resealOwnerPrefix}%'`,
    )
  }
  // From here on, waiting for a lock does not block the event loop.
  database.exec('PRAGMA busy_timeout = 0')
}

/** Without a `folder` the database is in memory. */
function createStore(file: DatabaseSync, work: SqliteWork, close: () => void, folder?: string): Store {
  const database = createSqliteDatabase(file, work)
  const signIns = createSignIns(database)
  let closed = false

  return {
    ...createAttemptSteps(database),
    ...createClients(database),
    ...createDevices(database),
    ...signIns,
    ...createGrantReads(database),
    ...createCodeReads(database),
    ...createProviderSessions(database),
    ...createSqliteSecondFactors(database),
    ...createSqliteCodes(database),
    ...createSqliteTokens(database),
    ...createSqliteGrants(database),
    trimClients: (max, limit, openedBefore) => trimClients(database, { max, limit, openedBefore }),
    claimSignOuts: (claim, now) => database.transaction(() => claimSignOuts(database, claim, now)),
    prepare: async () => {},
    async proveWritable() {
      await writeProbe(signIns)
      if (folder !== undefined) await requireSpace(folder)
    },
    collectExpired: (now, limit) => database.transaction(() => collectFromSqlite(database, now, limit)),
    async close() {
      if (closed) return
      closed = true
      // The last commit cannot wait for a later turn of the event loop.
      file.exec('PRAGMA busy_timeout = 1000')
      work.finish()
      close()
    },
  }
}

/** A small write to a full disk may fit into the log that is there, and the next one not. */
async function requireSpace(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < minFreeBytes)
    throw new StoreUnavailableError('There is no space left for the database.', { cause: undefined })
}

// Matches the index, which covers the query. Without the function the expiry index would be used instead.
const unused = `kind = 'registered' AND kept = 0 AND coalesce(expires_at, 0) > 0`

const countUnused = `SELECT count(*) AS count FROM (SELECT 1 FROM client WHERE ${unused} LIMIT $1)`

// Ranks older registrations, and registrations of networks that have more, higher.
const trim = `DELETE FROM client WHERE id IN (
    SELECT id FROM (
      SELECT id, created_at, opened_at, row_number() OVER (PARTITION BY network ORDER BY created_at DESC) AS place
      FROM client WHERE ${unused})
    WHERE opened_at < $1 ORDER BY place DESC, created_at LIMIT $2)
  RETURNING true AS gone`

async function trimClients(
  database: SqliteDatabase,
  { max, limit, openedBefore }: { max: number; limit: number; openedBefore: number },
): Promise<number> {
  const [found] = await database.read<{ count: number }>(countUnused, [max + limit])
  // Usually there is nothing to do, which needs no transaction.
  if (!found || found.count <= max) return 0
  return database.transaction(() => {
    const excess = (database.all<{ count: number }>(countUnused, [max + limit])[0]?.count ?? 0) - max
    return database.all(trim, [openedBefore, Math.max(0, excess)]).length
  })
}

const selectDue = `SELECT ${sessionColumns}, sign_out_attempts + 1 AS attempts, sign_out_since AS since
  FROM provider_session WHERE sign_out_due_at <= $1 ORDER BY sign_out_due_at LIMIT $2`

const claimDue =
  'UPDATE provider_session SET sign_out_attempts = $2, sign_out_due_at = $3 WHERE grant_id = $1'

function claimSignOuts(
  database: SqliteDatabase,
  { limit, until }: { limit: number; until: number },
  now: number,
): PendingSignOut[] {
  const due = database.all<SignOutRow>(selectDue, [now, limit])
  for (const { grantId, attempts } of due) database.run(claimDue, [grantId, attempts, until])
  return due.map(signOutOf)
}
