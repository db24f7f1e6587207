import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes the folder at `path` with the folders above it, each for its owner only; does nothing where it exists.
 * Step by step, because Node's recursive way never ends below file systems that refuse to make folders.
 */
export function makeDataFolder(path: string): void {
  if (existsSync(path)) return
  makeDataFolder(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

/** Creates an empty file for its owner only, if there is none. SQLite gives the files next to it the same mode. */
export function createPrivateFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}

/** Writes `text` durably to a new file next to `path`, for its owner only, and returns its path. */
export function writeDraft(path: string, text: string): string {
  const draft = `${path}.${process.pid}.new`
  // Only a process that died can have left a draft of this name.
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return draft
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
