import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import { CredentialError } from './credential-store.ts'

// Synchronous: the files are small, and loading node:fs/promises would cost every start of a client 5 ms.

/** Larger than any file of ours; a larger one is not read into memory. */
const maxBytes = 16_000_000
/** Drafts older than this were left by killed processes. */
const abandonedMs = 600_000
/** Windows has no file modes, and cannot sync a folder. */
const hasModes = process.platform !== 'win32'
/** Follows no symbolic link, and does not block on a pipe. The last two are undefined on Windows, which counts as 0. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Small files that only their owner can access: 0600 in 0700. Throws {@link CredentialError} `not_writable`. */
export type PrivateFolder = ReturnType<typeof createPrivateFolder>

/** Entries of the bridge's folder, and those that file systems and desktops add. */
const ownNames: ReadonlySet<string> = new Set([
  'config.json',
  'credentials',
  'logs',
  'servers',
  'lost+found',
  '.DS_Store',
])

/**
 * Opens the folder `name` below `home`, the folder of the bridge. Tightens modes that are too permissive, and reports them to `warn`;
 * a `home` that others use too is refused, and stays as it is.
 */
export function createPrivateFolder(home: string, name: string, warn: (line: string) => void) {
  const path = join(home, name)
  const below = name.split('/').map((_, index, names) => join(home, ...names.slice(0, index + 1)))
  const folders = [home, ...below]
  const check = (folder: string): void => checkFolder(folder, folder === home, warn)

  /** Creates the folder, and removes incomplete drafts of killed processes. */
  function prepare(): void {
    writing(path, () => {
      for (const folder of folders) {
        makeFolder(folder)
        check(folder)
      }
      // Check this before the user signs in, not after.
      accessSync(path, constants.W_OK)
      removeDrafts(path)
    })
  }

  return {
    path,
    prepare,
    /** Returns undefined when the file is missing. */
    read(name: string): string | undefined {
      folders.forEach(check)
      return readPrivateFile(join(path, name), warn)
    },
    /** Writes atomically and durably. */
    write(name: string, text: string): void {
      prepare()
      writing(path, () => replaceFile(path, name, text))
    },
    /** Returns whether the file existed. */
    remove(name: string): boolean {
      return writing(path, () => {
        const file = join(path, name)
        if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return false
        whileHeld(process.platform, () => rmSync(file, { force: true }))
        syncFolder(path)
        return true
      })
    },
    names(): readonly string[] {
      folders.forEach(check)
      return reading(path, () => readdirSync(path)) ?? []
    },
  }
}

function readPrivateFile(path: string, warn: (line: string) => void): string | undefined {
  const file = reading(path, () => whileHeld(process.platform, () => openSync(path, openFlags)))
  if (file === undefined) return undefined
  try {
    const found = fstatSync(file)
    if (!found.isFile() || found.size > maxBytes) throw refused(path, 'is not a Drawbridge file')
    checkAccess(path, found, warn, () => fchmodSync(file, 0o600))
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function replaceFile(folder: string, name: string, text: string): void {
  const path = join(folder, name)
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw refused(path, 'is a symbolic link')
  }
  // Random: two processes may share a clock and, across containers, a process id, but must not share the file.
  const draft = join(folder, `.${name}.${randomBytes(8).toString('hex')}.tmp`)
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true })
    whileHeld(process.platform, () => renameSync(draft, path))
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  syncFolder(folder)
}

/** Without it a power cut may undo a rename. */
function syncFolder(path: string): void {
  if (!hasModes) return
  const folder = openSync(path, constants.O_RDONLY)
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Creates one folder at a time: Node's recursive mode never ends below file systems such as /proc. */
export function makeFolder(path: string): void {
  const parent = dirname(path)
  if (parent !== path && !existsSync(parent)) makeFolder(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it first.
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

function removeDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.tmp')) continue
    const draft = join(folder, name)
    const found = statSync(draft, { throwIfNoEntry: false })
    if (found !== undefined && found.mtimeMs < Date.now() - abandonedMs)
      whileHeld(process.platform, () => rmSync(draft, { force: true }))
  }
}

/** Throws for a folder that others use too, such as `/tmp`: they would lose it if it were tightened. */
function checkShared(path: string, { mode }: Stats): void {
  if (!hasModes || (mode & 0o077) === 0) return
  if ((mode & 0o1000) !== 0) throw refused(path, 'is shared by all users of this computer')
  const isOwn = reading(path, () => readdirSync(path))?.every((name) => ownNames.has(name))
  if (isOwn === false) throw refused(path, 'is open to others and has files of other programs')
}

/** Throws when an existing folder cannot be trusted. */
function checkFolder(path: string, isHome: boolean, warn: (line: string) => void): void {
  const found = reading(path, () => lstatSync(path))
  if (found === undefined) return
  // A link would let its creator choose where the credentials go.
  if (found.isSymbolicLink()) throw refused(path, 'is a symbolic link')
  if (!found.isDirectory()) throw refused(path, 'is not a folder')
  if (isHome) checkShared(path, found)
  checkAccess(path, found, warn, () => chmodSync(path, 0o700))
}

/** Throws for what another user owns, who can put anything into it, such as a known key. Tightens the mode. */
function checkAccess(
  path: string,
  { uid, mode }: Stats,
  warn: (line: string) => void,
  tighten: () => void,
): void {
  const user = process.geteuid?.()
  // Root can read and write everything anyway.
  const isForeign = user !== undefined && user !== 0 && uid !== user && uid !== 0
  if (isForeign) throw refused(path, 'belongs to another user')
  if (!hasModes || (mode & 0o077) === 0) return
  const before = (mode & 0o777).toString(8).padStart(4, '0')
  try {
    tighten()
    warn(`${path} was open to others (mode ${before}). It is not any more.`)
  } catch (error) {
    warn(`${path} is open to others (mode ${before}), and that cannot be changed: ${reasonOf(error)}.`)
  }
}

/** Returns undefined when the name does not exist. */
function reading<Value>(path: string, read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined
    if (hasCode(error, 'ELOOP')) throw refused(path, 'is a symbolic link')
    throw new CredentialError('not_writable', `${path} cannot be read: ${reasonOf(error)}.`, { cause: error })
  }
}

function writing<Value>(path: string, write: () => Value): Value {
  try {
    return write()
  } catch (error) {
    throw notWritable(path, error)
  }
}

function refused(path: string, why: string): CredentialError {
  return new CredentialError('not_writable', `${path} ${why}, so no credentials are kept there.`)
}

/** Creates an error for a failure to write `path`; passes on one that already explains it. */
export function notWritable(path: string, error: unknown): CredentialError {
  if (error instanceof CredentialError) return error
  return new CredentialError('not_writable', `${path} cannot be written: ${reasonOf(error)}.`, {
    cause: error,
  })
}

/** Returns whether a system error has this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Returns the code of a system error, or else its message. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
