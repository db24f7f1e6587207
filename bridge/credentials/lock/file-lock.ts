import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CredentialStore } from '../credential-store.ts'
import { hasCode, notWritable, type PrivateFolder } from '../private-folder.ts'
import { type LockAttempt, createLock } from './lock.ts'
import { type ProcessState, ownProcessIdentity, stateOfProcess } from './owner-process.ts'

/** The same in every process: an owner touches its lock every `touch`; one untouched for `watch` is abandoned. */
const touchMs = 2000
const watchMs = 5000

const free = 'free'

/**
 * Creates locks for all processes that use one folder. The system lets only one process create a file of a name, so each
 * lock taken is a new file: `NAME.1`, then `NAME.2`. The highest number counts. It stays after the release until
 * the next owner removes it, so no process can remove or take the lock of another by mistake, however long suspended.
 *
 * A lock is abandoned when its process is gone or, where that cannot be determined, when it has not changed while a waiting
 * process watched it. Its time is not compared with the clock: after a sleep the locks of live owners would look old.
 */
export function createFileLock(folder: PrivateFolder, runtime: Runtime): CredentialStore['exclusively'] {
  return createLock((name) => {
    folder.prepare()
    let seen: SeenLock | undefined
    return () => {
      try {
        seen = look(folder.path, name, seen)
        return isAvailable(seen)
          ? take(folder.path, name, seen.number + 1)
          : { kind: 'held', heldBy: isAlive(seen) ? seen.lease : undefined }
      } catch (error) {
        throw notWritable(folder.path, error)
      }
    }
  }, runtime)
}

/** The current lock of a name as last seen, and since when it has not changed (in milliseconds of a monotonic clock). */
interface SeenLock {
  number: number
  lease: string | undefined
  owner: ProcessState | 'none'
  touchedAtMs: number
  since: number
  /** The owner touched the lock while it was being watched. */
  isTouched: boolean
}

function look(folder: string, name: string, before: SeenLock | undefined): SeenLock {
  const number = Math.max(0, ...numbersOf(folder, name))
  const file = join(folder, `${name}.${number}`)
  const touchedAtMs = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const { lease, owner } = number === 0 ? { lease: undefined, owner: 'none' as const } : readOwner(file)
  const isSame = before?.number === number
  const isChanged = !isSame || before.touchedAtMs !== touchedAtMs
  return {
    number,
    lease,
    owner,
    touchedAtMs,
    since: isChanged ? performance.now() : before.since,
    isTouched: isSame && (isChanged || before.isTouched),
  }
}

function readOwner(file: string): Pick<SeenLock, 'lease' | 'owner'> {
  let text = ''
  try {
    text = whileHeld(process.platform, () => readFileSync(file, 'utf8'))
  } catch (error) {
    // The next owner has removed it meanwhile.
    if (!hasCode(error, 'ENOENT')) throw error
  }
  if (text === free) return { lease: undefined, owner: 'none' }
  const { lease, process: identity } = parseJsonObject(text) ?? {}
  return {
    lease: typeof lease === 'string' ? lease : undefined,
    owner: typeof identity === 'string' ? stateOfProcess(identity) : 'unknown',
  }
}

function isAvailable({ owner, since }: SeenLock): boolean {
  return owner === 'none' || owner === 'gone' || performance.now() - since > watchMs
}

/** Does not rely on the process id alone: another process may have it by now. */
function isAlive({ owner, touchedAtMs, isTouched }: SeenLock): boolean {
  return isTouched || (owner === 'lives' && Math.abs(Date.now() - touchedAtMs) < watchMs)
}

function take(folder: string, name: string, number: number): LockAttempt {
  const file = join(folder, `${name}.${number}`)
  const lease = randomUUID()
  try {
    writeFileSync(file, JSON.stringify({ lease, process: ownProcessIdentity() }), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return { kind: 'held', heldBy: undefined }
    throw error
  }
  const others = numbersOf(folder, name).filter((other) => other !== number)
  // Suspended since it looked, while others took the lock, and removed the file of this number again.
  const isLate = others.some((other) => other > number)
  for (const old of isLate ? [number] : others) {
    try {
      rmSync(join(folder, `${name}.${old}`), { force: true })
    } catch {
      // Another program has it open on Windows. The next owner removes it.
    }
  }
  if (isLate) return { kind: 'held', heldBy: undefined }
  const touching = setInterval(() => touch(file), touchMs).unref()
  return {
    kind: 'taken',
    lease,
    release() {
      clearInterval(touching)
      release(file)
    },
  }
}

function touch(file: string): void {
  try {
    const now = new Date()
    utimesSync(file, now, now)
  } catch {
    // Another process has taken over.
  }
}

function release(file: string): void {
  try {
    if (existsSync(file)) whileHeld(process.platform, () => writeFileSync(file, free))
  } catch {
    // On a full disk the file is empty now: the next process waits some seconds.
  }
}

function numbersOf(folder: string, name: string): number[] {
  return readdirSync(folder).flatMap((file) => {
    const number = file.startsWith(`${name}.`) ? file.slice(name.length + 1) : ''
    return /^\d{1,15}$/.test(number) ? [Number(number)] : []
  })
}
