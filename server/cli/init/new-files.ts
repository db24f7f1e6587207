import {
  accessSync,
  chmodSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import { OperatorRefusal } from '../../core/operator/operation.ts'
import { syncFolder, writeDraft } from '../../store/data-file.ts'

/** A file to write. */
export interface NewFile {
  /** Relative to the folder of the command. */
  path: string
  text: string
  /** Readable by its owner only. */
  isPrivate?: boolean
  /** If it is there already: `extended` by this text, which holds all of it; `kept`; by default it is in the way. */
  isThere?: 'extended' | 'kept' | undefined
}

/** Refuses to write where a file is in the way, or a link leads elsewhere. With `force` files are replaced. */
export function refuseObstacles(folder: string, files: readonly NewFile[], force: boolean): void {
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    throw new OperatorRefusal(409, `This user may not write ${folder}.`, 'Run it in a folder of yours.')
  }
  const links = files.map(({ path }) => linkIn(folder, path)).filter((path) => path !== undefined)
  if (links.length > 0)
    throw new OperatorRefusal(
      409,
      `A link is in the way: ${links.join(', ')}.`,
      'Put a file or folder there.',
    )
  const taken = files.filter(
    ({ path, isThere }) => isThere === undefined && !force && exists(join(folder, path)),
  )
  if (taken.length > 0) {
    const names = taken.map(({ path }) => path).join(', ')
    throw new OperatorRefusal(
      409,
      `There already: ${names}.`,
      'Move them away, or replace them with --force.',
    )
  }
}

/** Returns the first part of a path below `folder` that is a symbolic link. */
function linkIn(folder: string, path: string): string | undefined {
  const parts = path.split(/[\\/]/)
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join(sep))
  return paths.find((each) => statOf(join(folder, each))?.isSymbolicLink())
}

function statOf(path: string) {
  return lstatSync(path, { throwIfNoEntry: false })
}

/** Returns the text of a file, empty if there is none. Reads no links, which are refused later. */
export function textIn(folder: string, path: string): string {
  return statOf(join(folder, path))?.isFile() ? readFileSync(join(folder, path), 'utf8') : ''
}

/** Whether anything has that name, a broken link too. */
export function exists(path: string): boolean {
  return statOf(path) !== undefined
}

/**
 * Writes all files or none, each complete from the first moment on. Replaces what is there only with `force`, or to extend it.
 * Ctrl-C waits until all are there.
 */
export function writeFiles(folder: string, files: readonly NewFile[], force: boolean): void {
  refuseObstacles(folder, files, force)
  const wait = (): void => {}
  process.on('SIGINT', wait)
  const drafts: Draft[] = []
  const made: string[] = []
  try {
    for (const file of files) drafts.push(draftOf(file, join(folder, file.path), force))
    for (const { draft, path, replaces } of drafts) {
      if (replaces) whileHeld(process.platform, () => renameSync(draft, path))
      else {
        // Unlike a rename, a link cannot replace a file that has just come.
        linkSync(draft, path)
        made.push(path)
      }
      syncFolder(dirname(path))
    }
  } catch (error) {
    for (const path of made) rmSync(path, { force: true })
    throw error
  } finally {
    for (const { draft } of drafts) rmSync(draft, { force: true })
    process.off('SIGINT', wait)
  }
}

interface Draft {
  draft: string
  path: string
  /** Takes the place of a file that is there. */
  replaces: boolean
}

function draftOf({ text, isPrivate, isThere }: NewFile, path: string, force: boolean): Draft {
  mkdirSync(dirname(path), { recursive: true })
  const draft = writeDraft(path, text)
  if (!isPrivate) chmodSync(draft, statOf(path)?.mode ?? 0o644)
  return { draft, path, replaces: isThere === 'extended' || (force && isThere === undefined) }
}
