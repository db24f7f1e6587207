import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, type Program, spawnChild } from '../bench/child.ts'
import { compileCache } from '../tests/support/compile-cache.ts'
import { until } from '../tests/support/until.ts'
import type { Tally } from './tally.ts'

const startTimeoutMs = 20_000
const restartPauseMs = 500

/** One server process under a supervisor that restarts it whenever it exits, and counts how. */
export type Instance = Awaited<ReturnType<typeof supervise>>

/** Settings as variables without their prefix; `environment` is passed unchanged. */
export interface InstanceSettings {
  settings: Readonly<Record<string, string>>
  environment?: Readonly<Record<string, string>>
}

/** Starts an instance of the built server at `port` of this machine. */
export function startInstance(
  port: number,
  { launcher, scratch, tally }: { launcher: string; scratch: string; tally: Tally },
  { settings, environment }: InstanceSettings,
): Promise<Instance> {
  const name = `instance-${port}`
  const directory = join(scratch, name)
  mkdirSync(directory)
  const named = variablesOf({ ...settings, LISTEN: `127.0.0.1:${port}` })
  const program = {
    name,
    script: launcher,
    argv: ['--json'],
    directory,
    environment: { ...compileCache, ...named, ...environment },
    logFile: join(directory, 'log'),
  }
  return supervise(program, tally)
}

/** Returns settings as environment variables. */
export function variablesOf(settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [`DRAWBRIDGE_${key}`, value]))
}

/** Starts a program, and restarts it like a service manager, also when it failed to start. */
export async function supervise(program: Program, tally: Tally) {
  const children: Child[] = []
  let isReady = false
  let isStopping = false
  let pauseMs = restartPauseMs
  const start = (): Child => {
    const child = spawnChild(program)
    children.push(child)
    void child.ready.then(() => (isReady = !isStopping))
    return child
  }
  let child = start()
  const log = (): string =>
    [readFileSync(program.logFile, 'utf8'), ...children.map(({ output }) => output())].join('\n')
  await until(
    () => isReady,
    () => `${program.name} to start:\n${log().slice(-2000)}`,
    startTimeoutMs,
  )

  const ended = (async () => {
    for (;;) {
      const how = await child.ended
      isReady = false
      if (isStopping) return
      tally.add(how === 'SIGKILL' ? 'kills' : how === '0' ? 'updates' : `exits with ${how}`)
      await sleep(pauseMs)
      if (isStopping) return
      pauseMs = restartPauseMs
      child = start()
    }
  })()

  return {
    /** Returns the output of all its processes. */
    log,
    /**
     * Sends `signal`: SIGTERM for an update, SIGKILL for a crash. The supervisor restarts it `downMs` after it exits.
     * Does nothing while it is down.
     */
    kill(signal: 'SIGTERM' | 'SIGKILL', downMs: number) {
      pauseMs = downMs
      isReady = false
      child.kill(signal)
    },
    /** Resolves when a process that started after the last kill is ready. */
    restarted: () => until(() => isReady, `${program.name} to start again`),
    /** Ends it permanently. Throws when it does not exit cleanly, or as `expected`; it may have been killed a moment ago. */
    async stop(expected = 'SIGKILL') {
      isStopping = true
      await child.stop(expected)
      await ended
    },
  }
}
