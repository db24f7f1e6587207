import { randomBytes } from 'node:crypto'
import { accessSync, chmodSync, constants, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import { bytesWith, type ConfigFile, readConfigFile } from './config-file.ts'
import { InstallError } from './install-error.ts'
import type { Plan } from './plan-install.ts'

/**
 * Writes the new text of a plan's file: copies the file to a private backup next to it, in place of the last one, then replaces it with a
 * new file of the same mode. A file that was missing is private. Returns the path of the backup; undefined if there was no file.
 * Throws {@link InstallError} if the file has changed since it was read, as clients write it while they run.
 */
export function applyPlan(plan: Plan, text: string): string | undefined {
  const { file } = plan
  const { target, path, found } = file
  const bytes = bytesWith(file, text)
  refuseChanged(plan)
  try {
    if (!found) {
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
      replaceFile(target, bytes, 0o600)
      return undefined
    }
    refuseReadOnly(file)
    const backup = `${target}.drawbridge-backup`
    replaceFile(backup, found.bytes, 0o600)
    // Replacing the file would detach its other hard links, and change its owner when run with sudo.
    if (found.isShared) writeFileSync(target, bytes)
    else replaceFile(target, bytes, found.mode)
    return backup
  } catch (error) {
    if (error instanceof InstallError) throw error
    const why = (error as NodeJS.ErrnoException).code ?? 'for an unknown reason'
    throw notWritable(path, `(${why})`, error)
  }
}

function refuseChanged({ file, name }: Plan): void {
  const now = readConfigFile(file.path).found?.bytes
  const before = file.found?.bytes
  if (now === undefined ? before === undefined : before !== undefined && now.equals(before)) return
  throw new InstallError(
    `Another program has changed ${file.path} meanwhile, so ${JSON.stringify(name)} was not written.`,
    'Run the command again; if that fails too, close the client first.',
  )
}

/** Checks the mode bits, which do not stop root: a read-only file was made so on purpose. Throws {@link InstallError}. */
export function refuseReadOnly({ found, path, target }: ConfigFile): void {
  if (!found) return
  if ((found.mode & 0o222) === 0) throw notWritable(path, '(it is read-only)')
  try {
    accessSync(target, constants.W_OK)
  } catch (error) {
    throw notWritable(path, `(${String((error as NodeJS.ErrnoException).code)})`, error)
  }
}

function notWritable(path: string, why: string, cause?: unknown): InstallError {
  return new InstallError(
    `${path} cannot be written ${why}.`,
    'If another program has this file open, close it and run this again. If one generates it, add the entry there: drawbridge install --print shows it.',
    cause,
  )
}

/** Renames, so that a client never reads half a file. */
function replaceFile(target: string, bytes: Buffer, mode: number): void {
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    writeFileSync(temporary, bytes, { flag: 'wx', mode, flush: true })
    // The process umask must not remove bits that the file had.
    chmodSync(temporary, mode)
    whileHeld(process.platform, () => renameSync(temporary, target))
  } catch (error) {
    rmSync(temporary, { force: true })
    // A rename fails if the file is a mount of its own, as in containers, or is open on Windows.
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['EBUSY', 'EPERM', 'EACCES'].includes(code)) throw error
    writeFileSync(target, bytes)
  }
}
