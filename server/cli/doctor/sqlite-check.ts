import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteMigrations } from '../../store/sqlite/migrations.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import { checkSchema } from './schema-check.ts'

const name = 'store'
const littleBytes = 200_000_000
const noBytes = 10_000_000
// As in statfs(2): NFS, SMB, CIFS, SMB2.
const networkFileSystems = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42])

/** What is known about a store in a SQLite file. `isRunning`: a server has claimed it. */
export interface SqliteReport {
  findings: Finding[]
  isRunning: boolean
  /** Whether this version may read it: it is there, and has the newest schema. */
  isReadable: boolean
}

/** Looks at the file at `path`, which `fileFaults` has passed, and around it. Nothing is made where there is nothing. */
export function checkSqlite(path: string): SqliteReport {
  const folder = nearestFolder(dirname(path))
  const space = checkSpace(folder)
  if (!existsSync(path)) {
    const findings = [ok(name, `The first start makes ${path}.`), ...space]
    return { findings, isRunning: false, isReadable: false }
  }
  const isRunning = isClaimed(path)
  const schema = readSqliteSchema(path)
  const running = isRunning ? 'a server is running' : 'no server is running'
  return {
    findings: [
      ok(name, `${path} can be read and written; ${running}.`),
      ...checkMode(path),
      checkSchema(schema, sqliteMigrations.length),
      ...space,
    ],
    isRunning,
    isReadable: schema === sqliteMigrations.length,
  }
}

function nearestFolder(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

function checkMode(path: string): Finding[] {
  // Windows has other means, which are not looked at.
  if (process.platform === 'win32' || (statSync(path).mode & 0o007) === 0) return []
  return [
    warn(
      'store-mode',
      `Everybody on this machine can read ${path}: who is connected, and hashes of tokens.`,
      `chmod 600 ${path}*`,
    ),
  ]
}

function checkSpace(folder: string): Finding[] {
  const { bavail, bsize, type } = statfsSync(folder)
  const free = bavail * bsize
  const text = `${sizeText(free)} are free in ${folder}`
  const space =
    free < noBytes
      ? fail('store-space', `${text}: nothing can be kept.`, 'Make room there.')
      : free < littleBytes
        ? warn('store-space', `${text}.`, 'Make room there before it is full.')
        : ok('store-space', `${text}.`)
  if (!networkFileSystems.has(type)) return [space]
  return [
    space,
    warn(
      'store-network',
      `${folder} is on a network file system, where SQLite's locks may not hold.`,
      'Use a local disk, or DRAWBRIDGE_STORE=postgres://... for several machines.',
    ),
  ]
}

function sizeText(bytes: number): string {
  const megabytes = Math.floor(bytes / 1e6)
  return megabytes < 10_000 ? `${megabytes} MB` : `${Math.floor(megabytes / 1000)} GB`
}

/** Whether a server holds the lock beside the database. */
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

/** The schema version of the SQLite file at `path`, which must be there. */
export function readSqliteSchema(path: string): number {
  // Opened to read only, it would leave the files of the write-ahead log behind.
  const database = new DatabaseSync(path, { timeout: 5000 })
  try {
    database.exec('PRAGMA query_only = 1')
    return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
  } finally {
    database.close()
  }
}
