import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import { InstallError } from './install-error.ts'

/** A client's file as found. */
export interface ConfigFile {
  /** The path that the client opens. */
  path: string
  /** The file with the bytes: `path`, or the target of its symbolic link. */
  target: string
  /** Undefined if the file does not exist. `isShared`: it has other hard links, or another owner than this process. */
  found: { bytes: Buffer; mode: number; isShared: boolean } | undefined
  /** Without the byte order mark; empty if the file does not exist. */
  text: string
}

/** Returns the bytes of a file with another text, and the byte order mark that it had. */
export function bytesWith({ found }: ConfigFile, text: string): Buffer {
  const hasMark = found?.bytes.subarray(0, 3).equals(Buffer.from('\uFEFF')) === true
  return Buffer.from(hasMark ? `\uFEFF${text}` : text)
}

/** Formats the path of a file for display, with its link target where that differs. */
export function shownPath({ path, target }: Pick<ConfigFile, 'path' | 'target'>): string {
  return target === path ? path : `${path} (which is ${target})`
}

/**
 * Throws {@link InstallError} if a project's file leads out of its folder by a symbolic link: a downloaded project
 * must not change files elsewhere.
 */
export function refuseOutside({ path, target }: Pick<ConfigFile, 'path' | 'target'>, folder: string): void {
  const way = relative(targetOf(folder), target)
  if (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return
  throw new InstallError(
    `${path} leads out of the project by a symbolic link, to ${target}.`,
    'Replace the link with a file, or leave out --project.',
  )
}

/** Reads a client's file, which may be missing. Refuses all but UTF-8: writing would destroy another encoding. */
export function readConfigFile(path: string): ConfigFile {
  const target = targetOf(path)
  try {
    const stat = statSync(target)
    if (!stat.isFile()) throw unreadable(`${path} is not a file.`, 'Move it away')
    const bytes = whileHeld(process.platform, () => readFileSync(target))
    const isShared = stat.nlink > 1 || (process.getuid !== undefined && stat.uid !== process.getuid())
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { path, target, found: { bytes, mode: stat.mode % 0o1000, isShared }, text }
  } catch (error) {
    if (isMissing(error)) return { path, target, found: undefined, text: '' }
    if (error instanceof InstallError) throw error
    if (error instanceof TypeError) throw unreadable(`${path} is not UTF-8.`, 'Save it as UTF-8', error)
    const why = (error as NodeJS.ErrnoException).code ?? 'for an unknown reason'
    const remedy = why === 'EBUSY' ? 'Close the program that has it open' : 'Make it readable to yourself'
    throw unreadable(`${path} cannot be read (${why}).`, remedy, error)
  }
}

function unreadable(message: string, remedy: string, cause?: unknown): InstallError {
  return new InstallError(message, `${remedy}, then run the command again.`, cause)
}

/** Resolves symbolic links, including one to a missing file: dotfiles kept in git are often linked. */
function targetOf(path: string, linksLeft = 40): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (!isMissing(error)) return path
  }
  const folder = dirname(path)
  if (folder === path || linksLeft === 0) return path
  const inFolder = join(targetOf(folder, linksLeft), basename(path))
  const link = linkIn(inFolder)
  return link === undefined ? inFolder : targetOf(resolve(dirname(inFolder), link), linksLeft - 1)
}

function linkIn(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}
