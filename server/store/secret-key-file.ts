import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * The text of the key file at `path`; written there first, readable by its owner only, when it does not exist. Two
 * processes that start at once end up with the same text. Throws when the file can be neither read nor made.
 */
export function readOrCreateSecretKeys(path: string, create: () => string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return readFileSync(path, 'utf8').trim()
  }
  try {
    const text = create()
    writeSync(file, `${text}\n`)
    fsyncSync(file)
    return text
  } finally {
    closeSync(file)
  }
}
