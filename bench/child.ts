import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
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
  name: string
  pid: number
  /** Milliseconds from spawning to its ready line. */
  startMs: number
  /** The ready line. */
  ready: Readonly<Record<string, unknown>>
  /** Processor time of all threads so far, in milliseconds; grows in steps of ten. */
  cpuMs(): number
  /** Resident memory in bytes. */
  memoryBytes(): number
  /** Ends it as an operator would, and waits. Throws when it does not exit cleanly. */
  stop(): Promise<void>
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

/** Starts `program` and waits for its ready line. */
export async function startChild(program: Program): Promise<Child> {
  const log = openSync(program.logFile, 'a')
  const started = performance.now()
  const child = spawn(process.execPath, [program.script, ...(program.argv ?? [])], {
    cwd: program.directory,
    env: { PATH: process.env['PATH'] ?? '', HOME: program.directory, ...program.environment },
    stdio: ['ignore', 'pipe', log],
  })
  closeSync(log)
  running.add(child)
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve(String(code ?? signal))
    })
  })
  const ready = await Promise.race([
    readyLine(child),
    ended.then((how) => new Error(`${program.name} ended with ${how} at its start.`)),
    delay(startTimeoutMs).then(() => new Error(`${program.name} is not ready after ${startTimeoutMs} ms.`)),
  ])
  if (ready instanceof Error) {
    child.kill('SIGKILL')
    throw new Error(`${ready.message}\n${readFileSync(program.logFile, 'utf8').slice(-2000)}`)
  }
  const pid = child.pid ?? 0
  return {
    name: program.name,
    pid,
    startMs: performance.now() - started,
    ready,
    cpuMs: () => cpuMs(pid),
    memoryBytes: () => memoryBytes(pid),
    async stop() {
      child.kill('SIGTERM')
      const how = await Promise.race([ended, delay(stopTimeoutMs).then(() => 'no end')])
      if (how === '0') return
      child.kill('SIGKILL')
      throw new Error(`${program.name} ended with ${how} on SIGTERM.`)
    },
  }
}

function readyLine(child: ChildProcess): Promise<Record<string, unknown>> {
  let text = ''
  return new Promise((resolve) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const line = /^\{.*"event":"ready".*\}$/m.exec(text)?.[0]
      if (line !== undefined) resolve(JSON.parse(line) as Record<string, unknown>)
    })
  })
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}
