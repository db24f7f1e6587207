import { DatabaseSync } from 'node:sqlite'
import { createPrivateFile } from '../data-file.ts'

/** Held by one process while it runs; the operating system releases it even after `kill -9`. */
export interface SqliteLock {
  release(): void
}

/**
 * Claims the database at `path` for this process, by a lock on a file next to it: readers, such as a backup, are not
 * kept out. Throws when another process has it.
 */
export function lockSqlite(path: string): SqliteLock {
  createPrivateFile(`${path}.lock`)
  const lock = new DatabaseSync(`${path}.lock`, { timeout: 0 })
  try {
    lock.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw new Error(
      `Another Drawbridge uses ${path}. Stop it first, or give this one a file of its own with STORE.`,
      { cause: error },
    )
  }
  return { release: () => lock.close() }
}
