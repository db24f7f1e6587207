import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { cpuMs, memoryBytes } from './process-usage.ts'

const startTimeoutMs = 30_000
const stopTimeoutMs = 20_000

/** A program to start. It reports on stdout that it is ready, with one JSON line whose `event` is `ready`. */
export interface Program {
  name: string
  /** Run by the current Node. */
  script: string
  argv?: readonly string[]
  directory: string
  environment?: Readonly<Record<string, string>>
  /** File for its stderr, as a service manager would use. */
  logFile: string
}

/** A program under test in a separate process. */
export interface Child {
  /** Resolves with its ready line, which may never come. */
  ready: Promise<Readonly<Record<string, unknown>>>
  /** Resolves with its exit code or signal. */
  ended: Promise<string>
  /** Returns everything that it has written to stdout. */
  output(): string
  /** Returns the processor time of all threads so far, in milliseconds; grows in steps of ten. */
  cpuMs(): number
  /** Returns its resident memory. */
  memoryBytes(): number
  kill(signal: NodeJS.Signals): void
  /** Ends it as an operator would, and waits. Throws when it does not exit cleanly, or, if given, by `signal`. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** A {@link Child} that is ready. */
export interface ReadyChild extends Omit<Child, 'ready'> {
  ready: Readonly<Record<string, unknown>>
  /** Milliseconds from spawning to its ready line. */
  startMs: number
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts `program` and waits for its ready line. Throws with the end of its log when there is none in 30 seconds. */
export async function startChild(program: Program): Promise<ReadyChild> {
  const started = performance.now()
  const child = spawnChild(program)
  const ready = await Promise.race([
    child.ready,
    child.ended.then((how) => `ended with ${how} at its start`),
    delay(startTimeoutMs, 'is not ready in time', { ref: false }),
  ])
  if (typeof ready === 'object') return { ...child, ready, startMs: performance.now() - started }
  child.kill('SIGKILL')
  throw new Error(`${program.name} ${ready}.\n${readFileSync(program.logFile, 'utf8').slice(-2000)}`)
}

/** Starts `program`. */
export function spawnChild(program: Program): Child {
  const log = openSync(program.logFile, 'a')
  const child = spawn(process.execPath, [program.script, ...(program.argv ?? [])], {
    cwd: program.directory,
    env: { PATH: process.env['PATH'] ?? '', HOME: program.directory, ...program.environment },
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  running.add(child)
  const pid = child.pid ?? 0
  let output = ''
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve(String(code ?? signal))
    })
  })
  const ready = new Promise<Record<string, unknown>>((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const line = /^\{.*"event":"ready".*\}$/m.exec(output)?.[0]
      if (line !== undefined) resolve(JSON.parse(line) as Record<string, unknown>)
    })
  })
  return {
    ready,
    ended,
    output: () => output,
    cpuMs: () => cpuMs(pid),
    memoryBytes: () => memoryBytes(pid),
    kill: (signal) => void child.kill(signal),
    async stop(expected) {
      child.kill('SIGTERM')
      const how = await Promise.race([ended, delay(stopTimeoutMs, 'no end', { ref: false })])
      if (how === '0' || how === expected) return
      child.kill('SIGKILL')
      throw new Error(`${program.name} ended with ${how} on SIGTERM.`)
    },
  }
}
