import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { bytesWith, type ConfigFile, readConfigFile } from './config-file.ts'
import { InstallError } from './install-error.ts'
import type { Plan } from './plan-install.ts'

const backupMark = '.drawbridge-backup-'

/**
 * Writes the new text of a plan's file: copies the file to a private backup next to it, then replaces it with a new file of the same mode.
 * Removes older backups, which may hold secrets of other entries. Returns the path of the backup; undefined if there was no file.
 * Throws {@link InstallError} if the file has changed since it was read, as clients write it while they run. `now` is in epoch seconds.
 */
export function applyPlan(plan: Plan, text: string, now: number): string | undefined {
  const { file, isPrivate } = plan
  const { target, path, found } = file
  const bytes = bytesWith(file, text)
  refuseChanged(plan)
  try {
    if (!found) {
      mkdirSync(dirname(target), { recursive: true, mode: isPrivate ? 0o700 : 0o777 })
      replaceFile(target, bytes, isPrivate ? 0o600 : undefined)
      return undefined
    }
    refuseReadOnly(file)
    const backup = writeBackup(target, found.bytes, now)
    // Replacing the file would detach its other hard links, and change its owner when run with sudo.
    if (found.isShared) writeFileSync(target, bytes)
    else replaceFile(target, bytes, found.mode)
    removeOlderBackups(target, backup)
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
    'changed',
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
    'not_writable',
    `${path} cannot be written ${why}.`,
    'If another program generates this file, add the entry there: drawbridge install --print shows it.',
    { cause },
  )
}

function writeBackup(target: string, bytes: Buffer, now: number): string {
  const stamp = new Date(now * 1000)
    .toISOString()
    .replaceAll(/[-:]|\..*$/g, '')
    .replace('T', '-')
  const first = `${target}${backupMark}${stamp}`
  for (let count = 1; ; count += 1) {
    const backup = count === 1 ? first : `${first}-${count}`
    if (existsSync(backup)) continue
    writeNewFile(backup, bytes, 0o600)
    return backup
  }
}

/** Removes older backups of the same file. */
function removeOlderBackups(target: string, newest: string): void {
  const folder = dirname(target)
  const start = basename(target) + backupMark
  for (const name of readdirSync(folder)) {
    const isOlder = name !== basename(newest) && name.startsWith(start)
    if (!isOlder || !/^\d{8}-\d{6}(?:-\d+)?$/.test(name.slice(start.length))) continue
    try {
      rmSync(join(folder, name))
    } catch {
      // The change has been made.
    }
  }
}

/** Renames, so that a client never reads half a file. */
function replaceFile(target: string, bytes: Buffer, mode: number | undefined): void {
  const temporary = join(dirname(target), `.${basename(target)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    writeNewFile(temporary, bytes, mode)
    renameSync(temporary, target)
  } catch (error) {
    rmSync(temporary, { force: true })
    // A rename fails if the file is a mount of its own, as in containers, or is open on Windows.
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['EBUSY', 'EPERM', 'EACCES'].includes(code)) throw error
    writeFileSync(target, bytes)
  }
}

function writeNewFile(path: string, bytes: Buffer, mode: number | undefined): void {
  writeFileSync(path, bytes, { flag: 'wx', mode: mode ?? 0o666, flush: true })
  // The process umask must not remove bits that the file had.
  if (mode !== undefined) chmodSync(path, mode)
}
