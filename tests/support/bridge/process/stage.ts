import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Remote, type RemoteOptions, startRemote } from '../../remote/remote.ts'
import {
  type BridgeChild,
  bridgeLauncher,
  type BridgeOptions,
  environmentOf,
  startBridgeChild,
} from './bridge-child.ts'

/** Output of a command and its exit code; -1 if it had to be killed. */
export interface CommandOutcome {
  code: number
  stdout: string
  stderr: string
}

/** Starts and finally stops all processes of one test, so that tests may run side by side. */
export interface Stage {
  /** Home folder of the user who runs the bridges, initially empty. */
  home: string
  remote(options?: RemoteOptions): Promise<Remote>
  bridge(url: string, options?: BridgeOptions): BridgeChild
  /** Runs `drawbridge` with these arguments until it exits. Its stdin is empty. */
  command(words: readonly string[], options?: BridgeOptions): Promise<CommandOutcome>
  /** Writes a file with that name in the home folder, and returns its path. */
  file(name: string, content: string): string
  /** Returns the text of every file in the home folder, by relative path. */
  files(): Map<string, string>
  /** Runs a cleanup when the test is over, in reverse order. */
  later(clean: () => unknown): void
}

const commandTimeoutMs = 25_000

/** Runs a test on a separate stage. Fails when a bridge wrote anything but messages to stdout. */
export function staged(test: (stage: Stage) => Promise<void>): () => Promise<void> {
  return async () => {
    const home = mkdtempSync(join(tmpdir(), 'drawbridge-stage-'))
    const bridges: BridgeChild[] = []
    const cleanups: (() => unknown)[] = [() => rmSync(home, { recursive: true, force: true })]
    const stage: Stage = {
      home,
      async remote(options) {
        const remote = await startRemote(options)
        cleanups.push(() => remote.close())
        return remote
      },
      bridge(url, options = {}) {
        const started = startBridgeChild(url, { home, ...options })
        bridges.push(started)
        cleanups.push(() => end(started))
        return started
      },
      command: (words, options = {}) => runCommand(words, { home, ...options }),
      file(name, content) {
        const path = join(home, name)
        mkdirSync(dirname(path), { recursive: true })
        writeFileSync(path, content)
        return path
      },
      files: () => filesIn(home),
      later: (clean) => void cleanups.push(clean),
    }
    try {
      await test(stage)
      const stray = bridges.flatMap(({ strayLines }) => strayLines)
      if (stray.length > 0) throw new Error(`On stdout: ${JSON.stringify(stray).slice(0, 1000)}`)
    } finally {
      for (const clean of cleanups.toReversed()) await clean()
    }
  }
}

async function end(bridge: BridgeChild): Promise<void> {
  bridge.child.stdout?.resume()
  bridge.endInput()
  const timer = setTimeout(() => bridge.kill('SIGKILL'), 3000)
  await bridge.over
  clearTimeout(timer)
}

function runCommand(words: readonly string[], options: BridgeOptions): Promise<CommandOutcome> {
  const { node = process.execPath, launcher = bridgeLauncher } = options
  return new Promise((resolve) => {
    const child = execFile(
      node,
      [launcher, ...words],
      { env: environmentOf(options), timeout: commandTimeoutMs, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    )
    child.stdin?.end()
  })
}

function filesIn(folder: string): Map<string, string> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  return new Map(
    found
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'latin1')]),
  )
}
