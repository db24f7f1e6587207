import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { resealOwnerPrefix } from '../../core/session/session-seal.ts'
import type { Store } from '../../core/store.ts'
import { createPrivateFile, lockBeside, makeDataFolder } from '../data-file.ts'
import { createSqliteClients } from './clients.ts'
import { createSqliteCodes } from './codes.ts'
import { createSqliteDevices } from './devices.ts'
import { createSqliteGrantRecords } from './grant-records.ts'
import { createSqliteGrants } from './grants.ts'
import { collectInTurn } from './part.ts'
import { createSqliteProviderSessions, createSqliteSignOuts } from './provider-sessions.ts'
import { checkSqliteSchema, migrateSqlite } from './schema.ts'
import { createSqliteSealedSessions } from './sealed-sessions.ts'
import { createSqliteSecondFactors } from './second-factors.ts'
import { createSqliteAttempts, createSqliteSocialSignIns } from './sign-ins.ts'
import { createSqliteTokens } from './tokens.ts'
import { createSqliteWork, type SqliteWork } from './work.ts'

/** How long a command next to a running server waits before each commit, so that the server can write in between. */
const sharedPauseMs = 20

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
    return createStore(database, createSqliteWork(database, shared ? sharedPauseMs : 0), close)
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

function createStore(database: DatabaseSync, work: SqliteWork, close: () => void): Store {
  const signOuts = createSqliteSignOuts(database, work)
  const sessions = createSqliteProviderSessions(database, work, signOuts)
  const grants = createSqliteGrants(database, work, sessions)
  const tokens = createSqliteTokens(database, work, grants)
  const codes = createSqliteCodes(database, work, { grants, sessions, tokens, signOuts })
  const socialSignIns = createSqliteSocialSignIns(database, work)
  const secondFactors = createSqliteSecondFactors(database, work, signOuts)
  const attempts = createSqliteAttempts(database, work)
  const clients = createSqliteClients(database, work)
  const devices = createSqliteDevices(database, work)
  // Grants last, once none of their access tokens is left.
  const parts = [socialSignIns, secondFactors, attempts, devices, codes, tokens, grants, clients]
  const collect = collectInTurn(parts.map((part) => part.collect))
  let closed = false

  return {
    ...clients.operations,
    ...devices.operations,
    ...socialSignIns.operations,
    ...secondFactors.operations,
    ...attempts.operations,
    ...codes.operations,
    ...tokens.operations,
    ...grants.operations,
    ...createSqliteGrantRecords(database, work, grants.end, codes.expireOf),
    ...sessions.operations,
    ...signOuts.operations,
    ...createSqliteSealedSessions(database, work),
    prepare: async () => {},
    collectExpired: (now, limit) => work.write(() => collect(now, limit)),
    async close() {
      if (closed) return
      closed = true
      // The last commit cannot wait for a later turn of the event loop.
      database.exec('PRAGMA busy_timeout = 1000')
      work.finish()
      close()
    },
  }
}
