import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const startTimeoutMs = 30_000
const stopTimeoutMs = 20_000
// The unit of /proc/PID/stat: USER_HZ, which is 100 on every Linux that Node runs on.
const millisecondsPerTick = 10

/** A program to start. */
export interface Program {
  name: string
  /** Run by the current Node. */
  script: string
  argv?: readonly string[]
  directory: string
  environment?: Readonly<Record<string, string>>
  /** File for its stderr, as a service manager would use. */
  logFile: string
  /** How it reports on stdout that it is ready; by default with one JSON line whose `event` is `ready`. */
  readyLine?: RegExp
}

/** A program under test that reports when it is ready. */
export type Child = ReturnType<typeof spawnChild>

/** A {@link Child} that is ready. */
export type ReadyChild = Awaited<ReturnType<typeof startChild>>

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts `program` and waits for its ready line. Throws with the end of its log when there is none in 30 seconds. */
export async function startChild(program: Program) {
  const started = performance.now()
  const child = spawnChild(program)
  const ready = await Promise.race([
    child.ready,
    child.ended.then((how) => `ended with ${how} at its start`),
    delay(startTimeoutMs, 'is not ready in time', { ref: false }),
  ])
  // The time from spawning to its ready line.
  if (typeof ready === 'object') return { ...child, ready, startMs: performance.now() - started }
  child.kill('SIGKILL')
  throw new Error(`${program.name} ${ready}.\n${readFileSync(program.logFile, 'utf8').slice(-2000)}`)
}

/** Starts `program`. */
export function spawnChild(program: Program) {
  const { readyLine = /^\{.*"event":"ready".*\}$/m } = program
  const { child, ...own } = launch(program)
  child.stdin?.end()
  let output = ''
  const ready = new Promise<Record<string, unknown>>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const [line] = readyLine.exec(output) ?? []
      if (line !== undefined)
        resolve(line.startsWith('{') ? (JSON.parse(line) as object as Record<string, unknown>) : {})
    })
  })
  return {
    ...own,
    /** Resolves with its ready line, which may never come. */
    ready,
    /** Returns everything that it has written to stdout. */
    output: () => output,
    /** Ends it as an operator would, and waits. Throws when it does not exit cleanly, or as `expected`: a code or signal. */
    async stop(expected?: string) {
      own.kill('SIGTERM')
      const how = await Promise.race([own.ended, delay(stopTimeoutMs, 'no end', { ref: false })])
      if (how === '0' || how === expected) return
      own.kill('SIGKILL')
      throw new Error(`${program.name} ended with ${how} on SIGTERM.`)
    },
  }
}

/** Starts the process of `program`, with pipes for stdin and stdout. It ends with this process. */
export function launch(program: Program) {
  const log = openSync(program.logFile, 'a')
  const child = spawn(process.execPath, [program.script, ...(program.argv ?? [])], {
    cwd: program.directory,
    env: { PATH: process.env['PATH'] ?? '', HOME: program.directory, ...program.environment },
    stdio: ['pipe', 'pipe', log],
  })
  closeSync(log)
  running.add(child)
  child.stdin?.on('error', () => {})
  return {
    child,
    /** Resolves with its exit code or signal. */
    ended: new Promise<string>((resolve) => {
      child.once('close', (code, signal) => {
        running.delete(child)
        resolve(String(code ?? signal))
      })
    }),
    /** Returns the processor time of all threads so far, in milliseconds; grows in steps of ten. */
    cpuMs: () => cpuMs(child.pid),
    /** Returns its resident memory: now, and its peak so far. */
    memoryBytes: () => statusBytes(child.pid, 'VmRSS'),
    peakMemoryBytes: () => statusBytes(child.pid, 'VmHWM'),
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
  }
}

function cpuMs(pid = 0): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the name in brackets and may contain blanks; utime and stime are the fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * millisecondsPerTick
}

function statusBytes(pid = 0, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) * 1024
}
