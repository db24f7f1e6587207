import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { InstallError } from './install-error.ts'

/** Text of a file without the byte order mark that may stand before it. */
interface ConfigText {
  text: string
  mark: '' | '\uFEFF'
}

/** The text of a file in UTF-8. `undefined` for anything else: another encoding would be destroyed by writing it. */
export function decodeConfigText(bytes: Uint8Array): ConfigText | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.startsWith('\uFEFF') ? { text: text.slice(1), mark: '\uFEFF' } : { text, mark: '' }
  } catch {
    return undefined
  }
}

/** The inverse. */
export function encodeConfigText({ text, mark }: ConfigText): Buffer {
  return Buffer.from(mark + text, 'utf8')
}

/** The file of a client as it was found. */
export interface ConfigFile {
  /** What the client opens. */
  path: string
  /** Where the bytes are: `path`, or what it is a symbolic link to. */
  target: string
  /** Undefined: there is no file yet. `isShared`: it has more names, or another owner than who runs this. */
  found: { bytes: Buffer; mode: number; isShared: boolean } | undefined
}

/** The path of a file as a person is told it: with the place where the bytes are, where that is another one. */
export function shownPath({ path, target }: Pick<ConfigFile, 'path' | 'target'>): string {
  return target === path ? path : `${path} (which is ${target})`
}

/**
 * Throws {@link InstallError} if the file of a project leads out of its folder by a symbolic link: a project that somebody
 * downloaded must not choose what is written elsewhere.
 */
export function refuseOutside({ path, target }: Pick<ConfigFile, 'path' | 'target'>, folder: string): void {
  const way = relative(targetOf(folder), target)
  if (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return
  throw new InstallError(
    'outside',
    `${path} leads out of the project by a symbolic link, to ${target}.`,
    'Replace the link by a file, or leave out --project.',
  )
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

/**
 * Where the bytes of a path are. Links are followed, also one to a file that is not there yet: dotfiles kept in git are often
 * linked.
 */
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
