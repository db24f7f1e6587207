import {
  type BigIntStats,
  lstatSync,
  mkdir,
  mkdirSync,
  realpath,
  rmdir,
  rmdirSync,
  stat,
  utimes,
} from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type Lease } from '../credential-store.ts'
import { type ProcessState, removeOwner, stateOfOwner, writeOwner } from './lock-owner.ts'
import { hasCode, isMissing } from '../files/private-file.ts'
import type { PrivateFolder } from '../files/private-folder.ts'
import { type Lock, type LockAttempt, type LockOptions, createLocalLocks, withLock } from './lock.ts'

/** The same in every process: a holder touches its lock every `update`, and one untouched for `stale` is given up. */
const staleMs = 5000
const updateMs = 2000
/** Longer than `update`: a holder that lives has touched its lock meanwhile. */
const watchMs = 2500
/** Longer than a second process takes from seeing a stale lock to breaking it. */
const settleMs = 100

/** Holds names alone among all processes that use one folder, and within each of them. */
export type FileLock = <T>(
  name: string,
  options: LockOptions<T>,
  work: (lease: Lease) => Promise<T>,
) => Promise<T>

/**
 * Locks that are folders, by proper-lockfile: one kind for every platform and every Node, as two kinds would not exclude
 * each other. Beside each a file names the process that has it: when that is gone from this computer, the next one has the
 * lock at once. A killed holder of which nobody can tell costs the next one some seconds.
 *
 * A lock that looks stale is broken only after it was watched: when the machine woke up, or its clock jumped, the locks of
 * all who live look stale for a moment. A lock touched in the future is given up on the same proof.
 */
export function createFileLock(folder: PrivateFolder, runtime: Runtime): FileLock {
  const localLocks = createLocalLocks()
  const leases = new Map<string, string>()
  return async (name, options, work) => {
    await folder.prepare()
    const file = join(folder.path, name)
    let seen: ObservedLock | undefined

    async function take(): Promise<LockAttempt> {
      const local = localLocks(name)
      if (!('lock' in local)) return { heldBy: leases.get(name) }
      const taken = await takeShared().catch(async (error: unknown) => {
        await local.lock.release()
        throw error
      })
      if (!('lock' in taken)) {
        await local.lock.release()
        return taken
      }
      const { lock } = taken
      leases.set(name, lock.id)
      return {
        lock: {
          ...lock,
          async release() {
            leases.delete(name)
            await lock.release()
            await local.lock.release()
          },
        },
      }
    }

    async function takeShared(): Promise<LockAttempt> {
      seen = await look(file, seen)
      if (seen !== undefined && !isAbandoned(seen))
        return { heldBy: isLive(seen) ? seen.identity : undefined }
      const lock = await acquire(file, seen, runtime)
      return lock === undefined ? { heldBy: undefined } : { lock }
    }

    return await withLock(name, options, take, work, runtime)
  }
}

/** What the lock of somebody else looks like, and since when it has not changed (in milliseconds that only go forward). */
interface ObservedLock {
  identity: string
  touchedAtMs: number
  since: number
  /** Whether its owner touched it while somebody looked. */
  isTouched: boolean
  owner: ProcessState
}

async function look(file: string, before: ObservedLock | undefined): Promise<ObservedLock | undefined> {
  const found = await lstat(lockOf(file), { bigint: true }).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (found === undefined) return undefined
  const identity = identify(found)
  const touchedAtMs = Number(found.mtimeMs)
  const owner = await stateOfOwner(ownerFileOf(file), identity)
  const isSame = before?.identity === identity
  if (isSame && before.touchedAtMs === touchedAtMs) return { ...before, owner }
  return { identity, touchedAtMs, since: performance.now(), isTouched: isSame, owner }
}

function isAbandoned({ since, touchedAtMs, owner }: ObservedLock): boolean {
  if (owner === 'gone') return true
  const watchedMs = performance.now() - since
  const looksStale = touchedAtMs < Date.now() - staleMs
  return watchedMs > (looksStale ? watchMs : staleMs + updateMs)
}

/** Not only by its process: on some systems another one may have its number by now. */
function isLive({ since, touchedAtMs, isTouched, owner }: ObservedLock): boolean {
  const looksFresh = Math.abs(Date.now() - touchedAtMs) < staleMs
  return (isTouched && performance.now() - since < staleMs) || (owner === 'lives' && looksFresh)
}

/** Undefined when somebody else holds it. The lock `abandoned` is broken, if it is still that one. */
async function acquire(
  file: string,
  abandoned: ObservedLock | undefined,
  runtime: Runtime,
): Promise<Lock | undefined> {
  const path = lockOf(file)
  let isMade = false
  let identity: string | undefined
  let lost = false
  const isHeld = (): boolean => !lost && identity !== undefined && identityNow(path) === identity
  const { lock: lockFile } = await import('proper-lockfile')
  let release: () => Promise<void>
  try {
    if (abandoned !== undefined && !breakLock(path, abandoned)) return undefined
    release = await lockFile(file, {
      stale: staleMs,
      update: updateMs,
      realpath: false,
      // By default it throws from a timer, and so ends the process after every long sleep.
      onCompromised: () => {
        lost = true
      },
      fs: {
        mkdir: (folder: string, done: (error: Error | null) => void) => {
          mkdir(folder, { mode: 0o700 }, (error) => {
            if (error === null) {
              isMade = true
              identity = identityNow(path)
            }
            done(error)
          })
        },
        realpath,
        stat,
        utimes,
        // What is not its own it removes neither on release, nor at exit, nor as stale: nobody has watched that one.
        rmdir: (folder: string, done: (error: Error | null) => void) => {
          if (isHeld()) rmdir(folder, done)
          else done(null)
        },
        rmdirSync: (folder: string) => {
          if (isHeld()) rmdirSync(folder)
        },
      },
    })
  } catch (error) {
    // Made, and taken away before it was had.
    if (hasCode(error, 'ELOCKED') || (isMade && isMissing(error))) return undefined
    throw new CredentialError('not_writable', `The lock ${path} cannot be taken.`, { cause: error })
  }
  // Whoever was suspended while it broke that lock may remove this one instead: by then that is seen.
  if (abandoned !== undefined) await runtime.sleep(settleMs)
  const id = identity ?? ''
  const taken = {
    id,
    isHeld,
    async release() {
      if (isHeld()) await removeOwner(ownerFileOf(file))
      await release().catch(() => undefined)
    },
  }
  if (isHeld()) {
    await writeOwner(ownerFileOf(file), id)
    return taken
  }
  await taken.release()
  return undefined
}

function lockOf(file: string): string {
  return `${file}.lock`
}

function ownerFileOf(file: string): string {
  return `${file}.holder`
}

/**
 * Removes that lock if it is still the same. Between looking and removing it could become the lock of who broke it first, so
 * only one at a time does that: false, when another one is at it. Throws what the system says.
 */
function breakLock(path: string, abandoned: ObservedLock): boolean {
  const breaking = `${path}.breaking`
  try {
    mkdirSync(breaking, { mode: 0o700 })
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    // It is there for less than a millisecond, unless its maker was killed right then.
    removeIf(breaking, ({ mtimeMs }) => Math.abs(Date.now() - Number(mtimeMs)) > staleMs)
    return false
  }
  try {
    removeIf(path, (found) => {
      return identify(found) === abandoned.identity && Number(found.mtimeMs) === abandoned.touchedAtMs
    })
  } finally {
    removeIf(breaking, () => true)
  }
  return true
}

/** Removes a folder that looks like that. It need not be there: somebody else was faster. */
function removeIf(path: string, isThat: (found: BigIntStats) => boolean): void {
  try {
    if (isThat(lstatSync(path, { bigint: true }))) rmdirSync(path)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

function identityNow(path: string): string | undefined {
  try {
    return identify(lstatSync(path, { bigint: true }))
  } catch {
    return undefined
  }
}

/** The number of a folder alone is given to the next one at once. */
function identify(stats: BigIntStats): string {
  return `${stats.ino}-${stats.birthtimeNs}`
}
