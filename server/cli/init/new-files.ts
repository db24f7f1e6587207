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
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import { OperatorRefusal } from '../../core/operator/operation.ts'
import { removeDraft, syncFolder, writeDraft } from '../../store/data-file.ts'

/** A file to write. */
export interface NewFile {
  /** Relative to the folder of the command. */
  path: string
  text: string
  /** Readable by its owner only. */
  isPrivate?: boolean
  /** What happens to a file that is there: `extend` it, `text` having all of it, or `replace` it. By default it is in the way. */
  ifThere?: 'extend' | 'replace' | undefined
}

const statOf = (path: string) => lstatSync(path, { throwIfNoEntry: false })

/** Refuses to write where a file is in the way, or a link leads elsewhere. */
export function refuseObstacles(folder: string, files: readonly NewFile[]): void {
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    throw new OperatorRefusal(409, `This user may not write ${folder}.`, 'Run it in a folder of yours.')
  }
  const refuse = (problem: string, paths: readonly (string | undefined)[], nextStep: string): void => {
    const names = paths.filter((path) => path !== undefined).join(', ')
    if (names !== '') throw new OperatorRefusal(409, `${problem}: ${names}.`, nextStep)
  }
  const links = files.map(({ path }) => linkIn(folder, path))
  refuse('A link is in the way', links, 'Put a file or folder there.')
  const taken = files.filter(({ path, ifThere }) => !ifThere && statOf(join(folder, path)))
  const names = taken.map(({ path }) => path)
  refuse('There already', names, 'Move them away, or replace them with --force.')
}

/** Returns the first part of a path below `folder` that is a symbolic link. */
function linkIn(folder: string, path: string): string | undefined {
  const parts = path.split(/[\\/]/)
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join(sep))
  return paths.find((each) => statOf(join(folder, each))?.isSymbolicLink())
}

/** Returns the text of a file, undefined if there is none. Reads no links, which are refused later. */
export function textIn(folder: string, path: string): string | undefined {
  const file = join(folder, path)
  if (!statOf(file)?.isFile()) return undefined
  return decodeFileText(whileHeld(process.platform, () => readFileSync(file)))
}

/** Writes all files or none, each complete from the first moment on. Ctrl-C waits until all are there. */
export function writeFiles(folder: string, files: readonly NewFile[]): void {
  refuseObstacles(folder, files)
  const wait = (): void => {}
  process.on('SIGINT', wait)
  const drafts: Draft[] = []
  const made: string[] = []
  try {
    for (const file of files) drafts.push(draftOf(folder, file))
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
    for (const { draft } of drafts) removeDraft(draft)
    process.off('SIGINT', wait)
  }
}

interface Draft {
  draft: string
  path: string
  replaces: boolean
}

function draftOf(folder: string, { path: name, text, isPrivate, ifThere }: NewFile): Draft {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  const draft = writeDraft(path, text)
  if (!isPrivate) chmodSync(draft, statOf(path)?.mode ?? 0o644)
  return { draft, path, replaces: ifThere !== undefined }
}
