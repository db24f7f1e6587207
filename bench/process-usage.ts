import { readFileSync } from 'node:fs'

// The unit of /proc/PID/stat: USER_HZ, which is 100 on every Linux that Node runs on.
const millisecondsPerTick = 10

/** Returns the processor time of all threads of a process so far, in milliseconds; grows in steps of ten. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the name in brackets and may contain blanks; utime and stime are the fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * millisecondsPerTick
}

/** Returns the resident memory of a process in bytes. */
export function memoryBytes(pid: number): number {
  return statusBytes(pid, 'VmRSS')
}

/** Returns the peak resident memory of a process so far, in bytes. */
export function peakMemoryBytes(pid: number): number {
  return statusBytes(pid, 'VmHWM')
}

function statusBytes(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024
}
