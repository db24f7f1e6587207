import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach } from 'vitest'

/**
 * Syncs cost nothing here, for tests of results; durability is tested on a real disk. Falls back to the default
 * temporary folder.
 */
const fastDisk: string = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Returns paths of databases that do not exist yet, each in a separate folder that is removed after the test. */
export function useDatabaseFiles(): (disk?: string) => string {
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
  return (disk = fastDisk) => {
    const folder = mkdtempSync(join(disk, 'drawbridge-store-'))
    folders.push(folder)
    return join(folder, 'server.db')
  }
}

/** Runs `read` on the database at `path`, bypassing a store that may have it open. */
export function inspectDatabase<Result>(path: string, read: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return read(database)
  } finally {
    database.close()
  }
}

/** Counts the rows of every table at `path`. */
export function countRows(path: string): Record<string, number> {
  return inspectDatabase(path, (database) => {
    const tables = database
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .all()
    const counts = tables.map(({ name }) => {
      const row = database.prepare(`SELECT count(*) AS count FROM ${String(name)}`).get()
      return [String(name), Number(row?.['count'])] as const
    })
    return Object.fromEntries(counts)
  })
}

/** Returns SQLite's check of the file's structure: `ok`, or the faults. */
export function checkIntegrity(path: string): unknown {
  return inspectDatabase(path, (database) =>
    database
      .prepare('PRAGMA integrity_check')
      .all()
      .map((row) => row['integrity_check'])
      .join('; '),
  )
}
