import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compileCache } from '../tests/support/compile-cache.ts'
import { freePort } from '../tests/support/server/free-port.ts'

const startTimeoutMs = 20_000
const stopTimeoutMs = 20_000
const restartPauseMs = 500

/** One server process under a supervisor that restarts it whenever it exits. */
export interface Instance {
  port: number
  logFile: string
  /** Starts it and resolves when it is ready. */
  start(): Promise<void>
  /**
   * Sends `signal`: SIGTERM for an update, SIGKILL for a crash. The supervisor restarts it `downMs` after it exits.
   * Does nothing while it is down.
   */
  kill(signal: 'SIGTERM' | 'SIGKILL', downMs: number): void
  /** Ends it permanently. Throws when it does not exit cleanly. */
  stop(): Promise<void>
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Creates an instance of the built server without starting it. `settings` are variables without their prefix. */
export async function createInstance(
  name: string,
  given: { launcher: string; scratch: string; settings: Readonly<Record<string, string>> },
): Promise<Instance> {
  const port = await freePort()
  const directory = join(given.scratch, name)
  mkdirSync(directory)
  const logFile = join(directory, 'log')
  const environment = Object.fromEntries(
    Object.entries({ ...given.settings, LISTEN: `127.0.0.1:${port}` }).map(([key, value]) => [
      `DRAWBRIDGE_${key}`,
      value,
    ]),
  )
  let child: ChildProcess | undefined
  let stopping = false
  let pauseMs = restartPauseMs

  function spawnOnce(): { ended: Promise<void>; ready: Promise<void> } {
    const log = openSync(logFile, 'a')
    const spawned = spawn(process.execPath, [given.launcher, '--json'], {
      cwd: directory,
      env: { PATH: process.env['PATH'] ?? '', HOME: directory, ...compileCache, ...environment },
      stdio: ['ignore', 'pipe', log],
    })
    closeSync(log)
    running.add(spawned)
    child = spawned
    const ended = new Promise<void>((resolve) => {
      spawned.once('close', () => {
        running.delete(spawned)
        if (child === spawned) child = undefined
        resolve()
      })
    })
    const ready = new Promise<void>((resolve) => {
      spawned.stdout?.on('data', (chunk: Buffer) => {
        if (chunk.toString().includes('"event":"ready"')) resolve()
      })
    })
    return { ended, ready }
  }

  /** Restarts the process like a service manager, also when it failed to start. */
  async function supervise(ended: Promise<void>): Promise<void> {
    await ended
    if (stopping) return
    await sleep(pauseMs)
    pauseMs = restartPauseMs
    if (!stopping) await supervise(spawnOnce().ended)
  }

  return {
    port,
    logFile,
    async start() {
      const { ended, ready } = spawnOnce()
      const failure = await Promise.race([
        ready,
        ended.then(() => 'ended'),
        sleep(startTimeoutMs, 'is not ready', { ref: false }),
      ])
      if (failure !== undefined) {
        throw new Error(`${name} ${failure} at its start.\n${readFileSync(logFile, 'utf8').slice(-2000)}`)
      }
      void supervise(ended)
    },
    kill(signal, downMs) {
      pauseMs = downMs
      child?.kill(signal)
    },
    async stop() {
      stopping = true
      const last = child
      if (!last) return
      const ended = new Promise<string>((resolve) => {
        last.once('close', (code, signal) => resolve(String(code ?? signal)))
      })
      last.kill('SIGTERM')
      const how = await Promise.race([ended, sleep(stopTimeoutMs, 'no end', { ref: false })])
      // It may have been killed on purpose a moment ago.
      if (how !== '0' && how !== 'SIGKILL') throw new Error(`${name} ended with ${how} on SIGTERM.`)
    },
  }
}

/** Returns the complete log lines of `instance`. */
export function logLines(instance: Instance): Readonly<Record<string, unknown>>[] {
  return readFileSync(instance.logFile, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []
      } catch {
        // The last line of a killed process may be cut.
        return []
      }
    })
}
