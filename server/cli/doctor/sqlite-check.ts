import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Checks, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import { nearestExisting } from '../../config/setting-file.ts'
import { readSqliteVersion } from '../../store/sqlite/sqlite-schema.ts'
import { isReadByAll } from './file-check.ts'

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

/** Examines the file at `path`, which has passed `fileFaults`, and its folder. Creates nothing. */
export function readSqlite(path: string): SqliteFacts {
  const isThere = existsSync(path)
  return {
    path,
    folder: nearestExisting(dirname(path)),
    schema: isThere ? readSqliteSchema(path) : undefined,
    isRunning: isThere && isClaimed(path),
  }
}

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
