import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** State of a process. `unknown`: it is on another computer or in another container, or cannot be determined. */
export type ProcessState = 'lives' | 'gone' | 'unknown'

/**
 * Identifies this process to others that share a folder with it. The process id alone is not enough: it is reused
 * after an exit, and exists in every container at the same time. Undefined where it cannot be determined. Not secret.
 */
export function ownProcessIdentity(): string | undefined {
  const place = placeOfProcesses()
  const start = startOf(process.pid)
  return place === undefined || typeof start !== 'string' ? undefined : `${place} ${process.pid} ${start}`
}

/** Returns the state of the process with that identity. Never throws. */
export function stateOfProcess(identity: string): ProcessState {
  const [place, pidText = '', start] = identity.split(' ')
  const pid = Number(pidText)
  if (place !== placeOfProcesses() || !Number.isSafeInteger(pid) || pid <= 0) return 'unknown'
  const found = startOf(pid)
  if (found === undefined) return 'unknown'
  return found === start ? 'lives' : 'gone'
}

/** Identifies where process ids are comparable: one boot and one namespace on Linux, or else one computer. */
function placeOfProcesses(): string | undefined {
  if (process.platform !== 'linux') return hostname().replaceAll(/\s/g, '_') || undefined
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return undefined
  }
}

/** Returns when a process started, in ticks since boot; a constant where the system does not say. Null: it is gone. */
function startOf(pid: number): string | null | undefined {
  try {
    if (process.platform === 'linux') return ticksOf(pid)
    process.kill(pid, 0)
    return 'there'
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ESRCH' ? null : undefined
  }
}

function ticksOf(pid: number): string | null | undefined {
  // proc_pid_stat(5). The name in brackets may contain anything, so fields are counted from the last bracket.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [state = '', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Killed, but not reaped yet: such a process holds nothing.
  return /[ZXx]/.test(state) ? null : rest[18]
}
