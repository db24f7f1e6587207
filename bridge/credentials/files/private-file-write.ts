import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  checkFolder,
  hasCode,
  isMissing,
  notReadable,
  notWritable,
  ownerOnly,
  refused,
} from './private-file.ts'

// Loaded when something is written or listed. A start of a client does neither.

const abandonedMs = 600_000

/** Makes what is missing of the folders, and removes from the last one what a killed process left half written. */
export async function makeFolders(folders: readonly string[], warn: (line: string) => void): Promise<void> {
  for (const folder of folders) {
    await makeFolder(folder)
    checkFolder(folder, warn)
  }
  const last = folders.at(-1) ?? ''
  // To be known before a person signs in, not after.
  await access(last, constants.W_OK)
  await sweep(last)
}

/** The names in a folder; none when it is not there. */
export async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path)
  } catch (error) {
    if (isMissing(error)) return []
    throw notReadable(path, error)
  }
}

/** Whether there was such a file. Throws `not_writable`. */
export async function removePrivateFile(folder: string, name: string): Promise<boolean> {
  try {
    await rm(join(folder, name))
  } catch (error) {
    if (isMissing(error)) return false
    throw notWritable(folder, error)
  }
  await syncFolder(folder)
  return true
}

/** Writes a file whole or not at all, and there to stay when this resolves. Rejects as the file system does. */
export async function writePrivateFile(folder: string, name: string, text: string): Promise<void> {
  const path = join(folder, name)
  const existing = await lstat(path).catch(() => undefined)
  if (existing?.isSymbolicLink() === true) throw refused(path, 'is a symbolic link')
  // Random: two processes that share a clock and, across containers, a process id must not share the file.
  const draft = join(folder, `.${name}.${randomBytes(8).toString('hex')}.tmp`)
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(folder)
}

/** Without it a rename may be undone by a power cut. Windows has no such thing. */
async function syncFolder(path: string): Promise<void> {
  if (!ownerOnly) return
  const folder = await open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Step by step: Node's recursive way never ends below file systems that refuse to make folders, as /proc does. */
async function makeFolder(path: string): Promise<void> {
  const parent = dirname(path)
  if (parent !== path && !(await exists(parent))) await makeFolder(parent)
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have been faster.
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  )
}

async function sweep(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (!name.endsWith('.tmp')) continue
    const draft = join(path, name)
    const found = await stat(draft).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < Date.now() - abandonedMs) await rm(draft, { force: true })
  }
}
