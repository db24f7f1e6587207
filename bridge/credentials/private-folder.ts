import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import {
  access,
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  type FileHandle,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CredentialError } from './credential-store.ts'

/** More than any file of ours is; a file beyond it is not read into memory. */
const mostBytes = 1_000_000
const abandonedMs = 600_000
const ownerOnly = process.platform !== 'win32'

/** Windows has neither, whatever the types say. */
const flags: { O_NOFOLLOW?: number; O_NONBLOCK?: number } = constants
/** For opening: not through a symbolic link. */
export const noFollow: number = flags.O_NOFOLLOW ?? 0
/** For opening: a pipe that somebody put there must not hold it. */
export const nonBlocking: number = flags.O_NONBLOCK ?? 0

/** A folder that only its owner can look into, and its small text files. */
export interface PrivateFolder {
  readonly path: string
  /** Makes the folder, and removes what a killed process left half written. */
  prepare(): Promise<void>
  /** Undefined when there is no such file. Symbolic links are refused, looser modes tightened. */
  read(name: string): Promise<string | undefined>
  /** Whole or not at all, and there to stay when this resolves. */
  write(name: string, text: string): Promise<void>
  /** Whether there was such a file. */
  remove(name: string): Promise<boolean>
  names(): Promise<readonly string[]>
}

/**
 * Files below `root`, in its folder `name` if one is given. Everything is 0600 in 0700, and belongs to this user or to root.
 * Rejects with {@link CredentialError} `not_writable`; `warn` is told of modes that were too loose.
 */
export function createPrivateFolder(
  root: string,
  name: string | undefined,
  warn: (line: string) => void,
): PrivateFolder {
  const folders = name === undefined ? [root] : [root, join(root, name)]
  const path = name === undefined ? root : join(root, name)
  let checked: Promise<void> | undefined
  let prepared: Promise<void> | undefined

  async function prepare(): Promise<void> {
    prepared ??= make()
    try {
      await prepared
    } catch (error) {
      prepared = undefined
      throw notWritable(path, error)
    }
  }

  async function make(): Promise<void> {
    for (const folder of folders) {
      await makeFolder(folder)
      await checkFolder(folder, warn)
    }
    // To be known before a person signs in, not after.
    await access(path, constants.W_OK)
    await sweep(path)
  }

  async function check(): Promise<void> {
    checked ??= (async () => {
      for (const folder of folders) await checkFolder(folder, warn)
    })()
    try {
      await checked
    } catch (error) {
      checked = undefined
      throw error
    }
  }

  return {
    path,
    prepare,
    async read(name) {
      await check()
      return await readPrivateFile(join(path, name), warn)
    },
    async write(name, text) {
      await prepare()
      try {
        await writePrivateFile(path, name, text)
      } catch (error) {
        if (!isMissing(error)) throw notWritable(path, error)
        // Somebody removed the folder since.
        prepared = undefined
        await prepare()
        await writePrivateFile(path, name, text).catch((again: unknown) => {
          throw notWritable(path, again)
        })
      }
    },
    async remove(name) {
      try {
        await rm(join(path, name))
      } catch (error) {
        if (isMissing(error)) return false
        throw notWritable(path, error)
      }
      await syncFolder(path)
      return true
    },
    async names() {
      await check()
      try {
        return await readdir(path)
      } catch (error) {
        if (isMissing(error)) return []
        throw notReadable(path, error)
      }
    },
  }
}

/** Whether an error of the file system says that there is nothing of that name. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
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

async function checkFolder(path: string, warn: (line: string) => void): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw notReadable(path, error)
  })
  if (found === undefined) return
  // Whoever can put a link there decides where the credentials go.
  if (found.isSymbolicLink()) throw refused(path, 'is a symbolic link')
  if (!found.isDirectory()) throw refused(path, 'is not a folder')
  // Who owns a folder puts into it what they like, a key that they know for instance.
  if (isForeign(found.uid)) throw refused(path, 'belongs to another user')
  if (!ownerOnly || (found.mode & 0o077) === 0) return
  await tighten(path, found.mode, warn, () => chmod(path, 0o700))
}

async function readPrivateFile(path: string, warn: (line: string) => void): Promise<string | undefined> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | noFollow | nonBlocking)
  } catch (error) {
    if (isMissing(error)) return undefined
    if (hasCode(error, 'ELOOP')) throw refused(path, 'is a symbolic link')
    throw notReadable(path, error)
  }
  try {
    const found = await file.stat()
    if (!found.isFile() || found.size > mostBytes) throw refused(path, 'is no file of Drawbridge')
    if (isForeign(found.uid)) throw refused(path, 'belongs to another user')
    if (ownerOnly && (found.mode & 0o077) !== 0) {
      await tighten(path, found.mode, warn, () => file.chmod(0o600))
    }
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Root may do what it likes anyway, and as root nothing is safe from anybody whose files are used. */
function isForeign(owner: number): boolean {
  const user = process.geteuid?.()
  return user !== undefined && user !== 0 && owner !== user && owner !== 0
}

async function writePrivateFile(folder: string, name: string, text: string): Promise<void> {
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

async function sweep(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (!name.endsWith('.tmp')) continue
    const draft = join(path, name)
    const found = await stat(draft).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < Date.now() - abandonedMs) await rm(draft, { force: true })
  }
}

async function tighten(
  path: string,
  mode: number,
  warn: (line: string) => void,
  change: () => Promise<void>,
): Promise<void> {
  const before = (mode & 0o777).toString(8).padStart(4, '0')
  try {
    await change()
    warn(`${path} was open to others (mode ${before}). It is not any more.`)
  } catch (error) {
    warn(`${path} is open to others (mode ${before}), and that cannot be changed: ${reason(error)}.`)
  }
}

function refused(path: string, why: string): CredentialError {
  return new CredentialError('not_writable', `${path} ${why}, so no credentials are kept there.`)
}

function notReadable(path: string, error: unknown): CredentialError {
  return new CredentialError('not_writable', `${path} cannot be read: ${reason(error)}.`, { cause: error })
}

function notWritable(path: string, error: unknown): CredentialError {
  if (error instanceof CredentialError) return error
  return new CredentialError('not_writable', `Nothing can be written to ${path}: ${reason(error)}.`, {
    cause: error,
  })
}

function reason(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
