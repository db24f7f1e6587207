import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import type { KeyFile } from '../core/operator/operation.ts'
import type { KeyRing, SealingKey } from '../core/seal.ts'
import { lockBeside, makeDataFolder, removeDraft, syncFolder, writeDraft } from './data-file.ts'
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
 * Creates the key file at `path`, readable by its owner only, unless it exists. Of two processes that start at once, one creates it.
 * Throws if it cannot be created.
 */
export function createKeyFile(path: string, create: () => string): void {
  if (existsSync(path)) return
  makeDataFolder(dirname(path))
  const draft = writeDraft(path, `${create()}\n`)
  try {
    // The file appears complete or not at all: a link cannot replace one that another process has just created.
    linkSync(draft, path)
    syncFolder(dirname(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    removeDraft(draft)
  }
}

/**
 * Replaces the entries of the key file at `path` with the result of `change`, one a line. Other processes see the old file or the
 * new one, which is on disk when this returns. Owner, group and mode stay; does not check them.
 *
 * One process changes a file at a time: otherwise a key added concurrently would be lost, and with it what it sealed. Others wait
 * for up to `waitMs`. The operating system releases the lock after `kill -9`. If `change` throws, the file stays as it is.
 */
function changeKeyFile(
  path: string,
  change: (entries: readonly string[]) => readonly string[],
  { waitMs = 5000 }: { waitMs?: number } = {},
): void {
  // A mounted secret is a link: replace the file behind it.
  const file = realpathSync(path)
  const unlock = lockBeside(file, `Another command is changing ${file}.`, waitMs)
  try {
    const entries = change(
      keyFileEntries(decodeFileText(whileHeld(process.platform, () => readFileSync(file)))),
    )
    replace(file, `${entries.join('\n')}\n`)
  } finally {
    unlock()
  }
}

/** Returns the key file at `path`; changes wait for other processes for up to `waitMs`. */
export function keyFileAt(path: string, options?: { waitMs: number }): KeyFile {
  return {
    path,
    changedAt: () => Math.floor(statSync(path).mtimeMs / 1000),
    change: (change) => changeKeyFile(path, change, options),
  }
}

function replace(file: string, text: string): void {
  const { mode, uid, gid } = statSync(file)
  const draft = writeDraft(file, text)
  try {
    keepOwner(draft, uid, gid, file)
    chmodSync(draft, mode & 0o777)
    whileHeld(process.platform, () => renameSync(draft, file))
  } finally {
    removeDraft(draft)
  }
  syncFolder(dirname(file))
}

// Everyone who can read the old file must be able to read the new one: a server that cannot would lack the new key.
function keepOwner(draft: string, uid: number, gid: number, file: string): void {
  const made = statSync(draft)
  if (made.uid === uid && made.gid === gid) return
  try {
    chownSync(draft, uid, gid)
  } catch (cause) {
    throw new Error(`${file} belongs to another user. Run this as its owner.`, { cause })
  }
}
