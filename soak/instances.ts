import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, spawnChild } from '../bench/child.ts'
import { compileCache } from '../tests/support/compile-cache.ts'
import { freePort } from '../tests/support/server/free-port.ts'

const startTimeoutMs = 20_000
const restartPauseMs = 500

/** One server process under a supervisor that restarts it whenever it exits. */
export interface Instance {
  port: number
  logFile: string
  /**
   * Sends `signal`: SIGTERM for an update, SIGKILL for a crash. The supervisor restarts it `downMs` after it exits.
   * Does nothing while it is down.
   */
  kill(signal: 'SIGTERM' | 'SIGKILL', downMs: number): void
  /** Ends it permanently. Throws when it does not exit cleanly. */
  stop(): Promise<void>
}

/** Starts an instance of the built server. `settings` are variables without their prefix, `environment` is passed unchanged. */
export async function startInstance(
  name: string,
  given: {
    launcher: string
    scratch: string
    settings: Readonly<Record<string, string>>
    environment?: Readonly<Record<string, string>>
  },
): Promise<Instance> {
  const port = await freePort()
  const directory = join(given.scratch, name)
  mkdirSync(directory)
  const logFile = join(directory, 'log')
  const settings = Object.entries({ ...given.settings, LISTEN: `127.0.0.1:${port}` })
  const environment = Object.fromEntries(settings.map(([key, value]) => [`DRAWBRIDGE_${key}`, value]))
  const start = (): Child =>
    spawnChild({
      name,
      script: given.launcher,
      argv: ['--json'],
      directory,
      environment: { ...compileCache, ...environment, ...given.environment },
      logFile,
    })

  let child = start()
  let isStopping = false
  let pauseMs = restartPauseMs
  const isReady = await Promise.race([child.ready, child.ended, sleep(startTimeoutMs, '', { ref: false })])
  if (typeof isReady !== 'object') {
    throw new Error(`${name} did not start.\n${readFileSync(logFile, 'utf8').slice(-2000)}`)
  }
  const supervising = supervise()

  /** Restarts the process like a service manager, also when it failed to start. */
  async function supervise(): Promise<void> {
    for (;;) {
      await child.ended
      if (!isStopping) await sleep(pauseMs)
      pauseMs = restartPauseMs
      if (isStopping) return
      child = start()
    }
  }

  return {
    port,
    logFile,
    kill(signal, downMs) {
      pauseMs = downMs
      child.kill(signal)
    },
    async stop() {
      isStopping = true
      // It may have been killed on purpose a moment ago.
      await child.stop('SIGKILL')
      await supervising
    },
  }
}

/** Returns the complete log lines of `instance`. */
export function logLines(instance: Instance): Readonly<Record<string, unknown>>[] {
  return jsonLines(readFileSync(instance.logFile, 'utf8'))
}

/** Returns the complete lines of `text` that are JSON objects. */
export function jsonLines(text: string): Readonly<Record<string, unknown>>[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []
    } catch {
      // The last line of a killed process may be cut.
      return []
    }
  })
}
