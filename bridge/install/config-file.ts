import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { InstallError } from './install-error.ts'

/** The file of a client as it was found. */
export interface ConfigFile {
  /** What the client opens. */
  path: string
  /** Where the bytes are: `path`, or what it is a symbolic link to. */
  target: string
  /** Undefined: there is no file yet. `isShared`: it has more names, or another owner than who runs this. */
  found: { bytes: Buffer; mode: number; isShared: boolean } | undefined
}

/**
 * Reads the file of a client. That it is not there is no fault; that it cannot be read, or is a folder, is an
 * {@link InstallError}.
 */
export function readConfigFile(path: string): ConfigFile {
  const target = targetOf(path)
  try {
    const stat = statSync(target)
    if (!stat.isFile()) {
      throw new InstallError('unreadable', `${path} is no file.`, 'Move it away, then run the command again.')
    }
    const bytes = readFileSync(target)
    const isShared = stat.nlink > 1 || (process.getuid !== undefined && stat.uid !== process.getuid())
    return { path, target, found: { bytes, mode: stat.mode % 0o1000, isShared } }
  } catch (error) {
    if (isMissing(error)) return { path, target, found: undefined }
    if (error instanceof InstallError) throw error
    const why = (error as NodeJS.ErrnoException).code ?? 'for an unknown reason'
    throw new InstallError(
      'unreadable',
      `${path} cannot be read (${why}).`,
      'Make it readable to yourself, then run the command again.',
      { cause: error },
    )
  }
}

/** Links are followed, also one to a file that is not there yet: dotfiles kept in git are often linked. */
function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!isMissing(error)) return path
  }
  try {
    if (lstatSync(path).isSymbolicLink()) return resolve(dirname(path), readlinkSync(path))
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return path
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
