import { linkSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { KeyRing, SealingKey } from '../core/seal.ts'
import { makeDataFolder, syncFolder, writeDraft } from './data-file.ts'
import { followFile } from './followed-file.ts'

export interface KeyFileOptions {
  /** Throws for text that is not a key ring; the message must not repeat the text. Entries are separated by commas. */
  parse: (text: string) => readonly SealingKey[]
  /** Epoch seconds. */
  now: () => number
  /** Called for every new ring, and for a changed file that is invalid: the previous ring stays in use. */
  report?: (event: KeyFileEvent, fields: Readonly<Record<string, unknown>>) => void
}

/** Log events of a key file; no field is secret. */
type KeyFileEvent = 'key_ring_changed' | 'key_file_unusable'

/**
 * Opens the {@link KeyRing} in the file at `path`: entries one a line or separated by commas. Throws if the file cannot be read or
 * is invalid.
 *
 * A key added by another process is in force here within a second of use, and at once after `refresh`.
 */
export function openKeyFile(path: string, { parse, now, report }: KeyFileOptions): KeyRing {
  const file = followFile(path, {
    parse: (text) => parse(keyFileEntries(text).join(',')),
    now,
    changed(change) {
      if (change.kind === 'value') {
        report?.('key_ring_changed', { kids: change.value.map(({ kid }) => kid) })
        return
      }
      const reason = change.error instanceof Error ? change.error.message : 'unknown'
      report?.('key_file_unusable', { path, reason })
    },
  })
  return { keys: () => file.current(), refresh: () => file.refresh() }
}

/** Returns the entries of a key file, `kid:base64` each, in order. Does not check them. */
export function keyFileEntries(text: string): string[] {
  return text
    .split(/[\r\n,]/)
    .map((entry) => entry.trim())
    .filter(Boolean)
}

/**
 * Returns the text of the key file at `path`; creates it first, readable by its owner only, if it does not exist. Two processes
 * that start at once end up with the same text. Throws if the file can be neither read nor created.
 */
export function readOrCreateSecretKeys(path: string, create: () => string): string {
  makeDataFolder(dirname(path))
  return read(path) ?? publish(path, create())
}

// The file appears complete or not at all: a link cannot replace one that another process has just created.
function publish(path: string, text: string): string {
  const draft = writeDraft(path, `${text}\n`)
  try {
    linkSync(draft, path)
    syncFolder(dirname(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(path, 'utf8').trim()
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}
