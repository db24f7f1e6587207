import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { whileHeld } from '@drawbridge/shared/held-file.ts'

/**
 * Creates the folder at `path` and missing parents, each for its owner only; does nothing if it exists. Step by step, because
 * Node's recursive option never returns below file systems that refuse to create folders.
 */
export function makeDataFolder(path: string): void {
  if (existsSync(path)) return
  makeDataFolder(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** Creates an empty file for its owner only, unless it exists. SQLite gives the files next to it the same mode. */
export function createPrivateFile(path: string): void {
  closeSync(whileHeld(process.platform, () => openSync(path, 'a', 0o600)))
}

/** Writes `text` durably to a new file next to `path`, for its owner only, and returns its path. */
export function writeDraft(path: string, text: string): string {
  const draft = `${path}.${process.pid}.new`
  // Only a process that died can have left a draft of this name.
  removeDraft(draft)
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return draft
}

/** Removes a draft that {@link writeDraft} made, if it is still there. */
export function removeDraft(draft: string): void {
  whileHeld(process.platform, () => rmSync(draft, { force: true }))
}

/** Makes files created or renamed in the folder at `path` durable, where the system can. */
export function syncFolder(path: string): void {
  // Windows cannot open folders.
  if (process.platform === 'win32') return
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/**
 * Locks the file at `path` for this process, by a SQLite lock on a file next to it, which does not block readers such as a backup.
 * Returns the release; the operating system releases it even after `kill -9`. Throws `message` when another process has it for
 * longer than `waitMs`.
 */
export function lockBeside(path: string, message: string, waitMs = 0): () => void {
  createPrivateFile(`${path}.lock`)
  const lock = new DatabaseSync(`${path}.lock`, { timeout: waitMs })
  try {
    lock.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw new Error(message, { cause: error })
  }
  return () => lock.close()
}
