import { chmodSync, chownSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import type { KeyFile } from '../core/operator/operation.ts'
import { lockBeside, syncFolder, writeDraft } from './data-file.ts'
import { keyFileEntries } from './secret-key-file.ts'

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
    const entries = change(keyFileEntries(decodeFileText(readFileSync(file))))
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
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
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
