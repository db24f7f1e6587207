import { constants, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { open, rm } from 'node:fs/promises'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { noFollow, nonBlocking } from '../files/private-file.ts'

/** What is known of a process. `unknown`: it is on another computer or in another container, or nobody can tell. */
export type ProcessState = 'lives' | 'gone' | 'unknown'

/**
 * Names this process for others that share a folder with it, beyond its number: that is given to the next one when it is
 * gone, and to one in every container at the same time. Undefined where it cannot be told. Not secret.
 */
export function ownProcessName(): string | undefined {
  const place = placeOfProcesses()
  const start = startOf(process.pid)
  return place === undefined || typeof start !== 'string' ? undefined : `${place} ${process.pid} ${start}`
}

/** What became of the process of that mark. Never throws, whatever the text is. */
export function stateOfProcess(mark: string): ProcessState {
  const [place, pidText = '', start] = mark.split(' ')
  const pid = Number(pidText)
  if (place !== placeOfProcesses() || !Number.isSafeInteger(pid) || pid <= 0) return 'unknown'
  const found = startOf(pid)
  if (found === undefined) return 'unknown'
  return found === start ? 'lives' : 'gone'
}

/** Where process numbers mean the same: one boot and one namespace of Linux, else one computer. */
function placeOfProcesses(): string | undefined {
  if (process.platform !== 'linux') return hostname().replaceAll(/\s/g, '_') || undefined
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
}

/** When a process began, in ticks since the boot; where the system does not say, the same for all. Null: it is gone. */
function startOf(pid: number): string | null | undefined {
  try {
    return process.platform === 'linux' ? ticksOf(pid) : presenceOf(pid)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ESRCH' ? null : undefined
  }
}

function ticksOf(pid: number): string | null | undefined {
  // proc_pid_stat(5). The name in brackets may hold anything: the fields behind it count from the last bracket.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [state = '', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Killed, and its parent has not looked yet: such a one holds nothing any more.
  return /[ZXx]/.test(state) ? null : rest[18]
}

function presenceOf(pid: number): string {
  process.kill(pid, 0)
  return 'there'
}

const maxBytes = 1000

/**
 * Writes down beside a lock which process has it, for {@link stateOfOwner}. `lease` names the lock as it was taken. Never
 * rejects: without the file whoever waits has to watch the lock.
 */
export async function writeOwner(path: string, lease: string): Promise<void> {
  const mark = ownProcessName()
  if (mark === undefined) return
  const { O_CREAT, O_TRUNC, O_WRONLY } = constants
  try {
    const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | noFollow, 0o600)
    try {
      await file.writeFile(JSON.stringify({ lease, process: mark }))
    } finally {
      await file.close()
    }
  } catch {
    // A full disk must not keep anybody from the lock.
  }
}

/** To be called by who has the lock. Never rejects. */
export async function removeOwner(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined)
}

/** What became of the process that took that lock; `unknown` when it did not say, or when the file is of an earlier one. */
export async function stateOfOwner(path: string, lease: string): Promise<ProcessState> {
  const text = await readSmall(path)
  const { lease: named, process: mark } = (text === undefined ? undefined : parseJsonObject(text)) ?? {}
  return named === lease && typeof mark === 'string' ? stateOfProcess(mark) : 'unknown'
}

async function readSmall(path: string): Promise<string | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | noFollow | nonBlocking)
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  } catch {
    return undefined
  }
}
