import { linkSync, readFileSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import type { KeyRing, SealingKey } from '../core/seal.ts'
import { makeDataFolder, syncFolder, writeDraft } from './data-file.ts'

/** What reading a key file takes. */
export interface KeyFileOptions {
  /** Throws for text that is not a key ring; the message must not repeat the text. Entries are separated by commas. */
  parse: (text: string) => readonly SealingKey[]
  /** Epoch seconds. */
  now: () => number
  /** Called for every new ring, and for a changed file that is not a ring: the previous one stays in use. */
  report?: (event: KeyFileEvent, fields: Readonly<Record<string, unknown>>) => void
}

/** What a key file tells the log; nothing secret is in its fields. */
export type KeyFileEvent = 'key_ring_changed' | 'key_file_unusable'

/**
 * The {@link KeyRing} in the file at `path`: entries one a line or separated by commas. Throws when the file cannot be
 * read or holds no ring.
 *
 * A key that another process adds is in force here within a second of use, and at once when `refresh` looks for it:
 * each look is one `stat`, and only another file is read. No timer runs. While the file is missing or broken the last
 * ring that was read stays in force.
 */
export function openKeyFile(path: string, options: KeyFileOptions): KeyRing {
  const { parse, now, report } = options
  // Stat before read: a write in between is seen by the next check.
  let seen = fingerprint(path)
  let lookedAt = now()
  let keys = parse(ringText(decodeFileText(readFileSync(path))))

  function look(): void {
    lookedAt = now()
    const found = fingerprint(path)
    if (found === seen) return
    seen = found
    try {
      keys = parse(ringText(decodeFileText(readFileSync(path))))
      report?.('key_ring_changed', { kids: keys.map(({ kid }) => kid) })
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      report?.('key_file_unusable', { path, reason })
    }
  }

  return {
    keys() {
      if (now() !== lookedAt) look()
      return keys
    },
    refresh: look,
  }
}

/** The entries of a key file, `kid:base64` each, in order. They are not checked. */
export function keyFileEntries(text: string): string[] {
  return text
    .split(/[\r\n,]/)
    .map((entry) => entry.trim())
    .filter(Boolean)
}

function ringText(text: string): string {
  return keyFileEntries(text).join(',')
}

/** Another file, or a file written to, has another one. Replacing a file is seen even within one tick of its clock. */
function fingerprint(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}

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
