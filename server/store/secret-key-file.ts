import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDataFolder } from './data-folder.ts'

/**
 * The text of the key file at `path`; written there first, readable by its owner only, when it does not exist. Two
 * processes that start at once end up with the same text. Throws when the file can be neither read nor made.
 */
export function readOrCreateSecretKeys(path: string, create: () => string): string {
  makeDataFolder(dirname(path))
  return read(path) ?? publish(path, create())
}

// The file appears complete or not at all: a link cannot replace one that another process has made meanwhile.
function publish(path: string, text: string): string {
  const draft = `${path}.${process.pid}.new`
  writeDurably(draft, `${text}\n`)
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(path, 'utf8').trim()
}

function writeDurably(path: string, text: string): void {
  // A draft of this name can only be left over from a process that died.
  rmSync(path, { force: true })
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}
