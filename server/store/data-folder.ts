import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
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

/** Makes an empty file for its owner only, where there is none. SQLite gives the files beside it the same mode. */
export function createPrivateFile(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
}
