import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
} from 'node:fs'
import { CredentialError } from '../credential-store.ts'

// Synchronous: what every start of a client does is not worth a dozen turns of the event loop, and node:fs/promises takes 5 ms
// to load.

/** More than any file of ours is; a file beyond it is not read into memory. */
const maxBytes = 1_000_000
/** Elsewhere files have no modes. */
export const ownerOnly: boolean = process.platform !== 'win32'

/** Windows has neither, whatever the types say. */
const flags: { O_NOFOLLOW?: number; O_NONBLOCK?: number } = constants
/** For opening: not through a symbolic link. */
export const noFollow: number = flags.O_NOFOLLOW ?? 0
/** For opening: a pipe that somebody put there must not hold it. */
export const nonBlocking: number = flags.O_NONBLOCK ?? 0

/**
 * Throws when the folder cannot be trusted, and tightens a mode that is too loose: `warn` is told. One that is not there is
 * no reason to throw.
 */
export function checkFolder(path: string, warn: (line: string) => void): void {
  let found: Stats
  try {
    found = lstatSync(path)
  } catch (error) {
    if (isMissing(error)) return
    throw notReadable(path, error)
  }
  // Whoever can put a link there decides where the credentials go.
  if (found.isSymbolicLink()) throw refused(path, 'is a symbolic link')
  if (!found.isDirectory()) throw refused(path, 'is not a folder')
  // Who owns a folder puts into it what they like, a key that they know for instance.
  if (isForeign(found.uid)) throw refused(path, 'belongs to another user')
  if (!ownerOnly || (found.mode & 0o077) === 0) return
  tighten(path, found.mode, warn, () => chmodSync(path, 0o700))
}

/** Undefined when there is no such file. Throws when it cannot be trusted, and tightens a mode that is too loose. */
export function readPrivateFile(path: string, warn: (line: string) => void): string | undefined {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | noFollow | nonBlocking)
  } catch (error) {
    if (isMissing(error)) return undefined
    if (hasCode(error, 'ELOOP')) throw refused(path, 'is a symbolic link')
    throw notReadable(path, error)
  }
  try {
    const found = fstatSync(file)
    if (!found.isFile() || found.size > maxBytes) throw refused(path, 'is no file of Drawbridge')
    if (isForeign(found.uid)) throw refused(path, 'belongs to another user')
    if (ownerOnly && (found.mode & 0o077) !== 0) {
      tighten(path, found.mode, warn, () => fchmodSync(file, 0o600))
    }
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Root may do what it likes anyway, and as root nothing is safe from anybody whose files are used. */
function isForeign(owner: number): boolean {
  const user = process.geteuid?.()
  return user !== undefined && user !== 0 && owner !== user && owner !== 0
}

function tighten(path: string, mode: number, warn: (line: string) => void, change: () => void): void {
  const before = (mode & 0o777).toString(8).padStart(4, '0')
  try {
    change()
    warn(`${path} was open to others (mode ${before}). It is not any more.`)
  } catch (error) {
    warn(`${path} is open to others (mode ${before}), and that cannot be changed: ${reason(error)}.`)
  }
}

/** Whether an error of the file system says that there is nothing of that name. */
export function isMissing(error: unknown): boolean {
  return hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')
}

/** Whether an error has that code of the system. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** `why` says what is wrong with what was found at `path`. */
export function refused(path: string, why: string): CredentialError {
  return new CredentialError('not_writable', `${path} ${why}, so no credentials are kept there.`)
}

/** The failure of looking at `path`. */
export function notReadable(path: string, error: unknown): CredentialError {
  return new CredentialError('not_writable', `${path} cannot be read: ${reason(error)}.`, { cause: error })
}

/** The failure of writing at `path`; one that says what is wrong already stays as it is. */
export function notWritable(path: string, error: unknown): CredentialError {
  if (error instanceof CredentialError) return error
  return new CredentialError('not_writable', `${path} cannot be written: ${reason(error)}.`, {
    cause: error,
  })
}

/** The code of an error of the system, else its text. */
function reason(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
