import { lstatSync, mkdir, realpath, rmdir, rmdirSync, stat, utimes, type BigIntStats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type Lease } from './credential-store.ts'
import { isMissing, type PrivateFolder } from './private-folder.ts'
import { createLocalTurns, inTurn, type Turn, type TurnOptions } from './turn.ts'

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
  options: TurnOptions<T>,
  work: (lease: Lease) => Promise<T>,
) => Promise<T>

/**
 * Locks that are folders, by proper-lockfile: one kind for every platform and every Node, as two kinds would not exclude
 * each other. A killed holder costs the next one some seconds.
 *
 * A lock that looks stale is broken only after it was watched: when the machine woke up, or its clock jumped, the locks of
 * all who live look stale for a moment. A lock touched in the future is given up on the same proof.
 */
export function createFileLock(folder: PrivateFolder, runtime: Runtime): FileLock {
  const localTurns = createLocalTurns()
  return async (name, options, work) => {
    await folder.prepare()
    const path = join(folder.path, `${name}.lock`)
    let seen: Sighting | undefined

    async function take(): Promise<Turn | undefined> {
      const local = localTurns(name)
      if (local === undefined) return undefined
      const turn = await takeShared().catch(async (error: unknown) => {
        await local.release()
        throw error
      })
      if (turn === undefined) {
        await local.release()
        return undefined
      }
      return {
        isHeld: turn.isHeld,
        async release() {
          await turn.release()
          await local.release()
        },
      }
    }

    async function takeShared(): Promise<Turn | undefined> {
      seen = await look(path, seen)
      if (seen !== undefined && !isAbandoned(seen)) return undefined
      return await acquire(join(folder.path, name), path, seen, runtime)
    }

    return await inTurn(name, options, take, work, runtime)
  }
}

/** What the lock of somebody else looks like, and since when it has not changed (in milliseconds that only go forward). */
interface Sighting {
  identity: string
  touchedAtMs: number
  since: number
}

async function look(path: string, before: Sighting | undefined): Promise<Sighting | undefined> {
  const found = await lstat(path, { bigint: true }).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (found === undefined) return undefined
  const identity = identify(found)
  const touchedAtMs = Number(found.mtimeMs)
  if (before?.identity === identity && before.touchedAtMs === touchedAtMs) return before
  return { identity, touchedAtMs, since: performance.now() }
}

function isAbandoned(seen: Sighting): boolean {
  const watchedMs = performance.now() - seen.since
  const looksStale = seen.touchedAtMs < Date.now() - staleMs
  return watchedMs > (looksStale ? watchMs : staleMs + updateMs)
}

/** Undefined when somebody else holds it. The lock `abandoned` is broken, if it is still that one. */
async function acquire(
  file: string,
  path: string,
  abandoned: Sighting | undefined,
  runtime: Runtime,
): Promise<Turn | undefined> {
  let identity: string | undefined
  let lost = false
  const isHeld = (): boolean => !lost && identity !== undefined && identityNow(path) === identity
  // Whoever believes to hold what somebody else took meanwhile must not remove it, neither on release nor at exit.
  const mayRemove = (): boolean => identity === undefined || isHeld()
  const { lock } = await import('proper-lockfile')
  if (abandoned !== undefined) breakLock(path, abandoned)
  let release: () => Promise<void>
  try {
    release = await lock(file, {
      stale: staleMs,
      update: updateMs,
      realpath: false,
      // By default it throws from a timer, and so ends the process after every long sleep.
      onCompromised: () => {
        lost = true
      },
      fs: {
        mkdir: (folder: string, done: (error: Error | null) => void) => {
          mkdir(folder, { mode: 0o700 }, done)
        },
        realpath,
        stat,
        utimes,
        rmdir: (folder: string, done: (error: Error | null) => void) => {
          if (mayRemove()) rmdir(folder, done)
          else done(null)
        },
        rmdirSync: (folder: string) => {
          if (mayRemove()) rmdirSync(folder)
        },
      },
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ELOCKED') return undefined
    throw new CredentialError('not_writable', `The lock ${path} cannot be taken.`, { cause: error })
  }
  identity = identityNow(path)
  // Two who break one stale lock may both believe to hold it: the second has removed the lock of the first.
  if (abandoned !== undefined) await runtime.sleep(settleMs)
  const turn = { isHeld, release: () => release().catch(() => undefined) }
  if (isHeld()) return turn
  await turn.release()
  return undefined
}

function breakLock(path: string, abandoned: Sighting): void {
  try {
    const found = lstatSync(path, { bigint: true })
    const same = identify(found) === abandoned.identity && Number(found.mtimeMs) === abandoned.touchedAtMs
    if (same) rmdirSync(path)
  } catch {
    // Somebody else was faster.
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
