import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Remote, type RemoteOptions, startRemote } from '../../remote/remote.ts'
import { type BridgeChild, type BridgeOptions, startBridgeChild, startCommand } from './bridge-child.ts'

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
        cleanups.push(() => started.close())
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

async function runCommand(words: readonly string[], options: BridgeOptions): Promise<CommandOutcome> {
  const command = startCommand(words, options)
  const timer = setTimeout(() => command.kill(), commandTimeoutMs)
  const code = await command.ended
  clearTimeout(timer)
  return { code: typeof code === 'number' ? code : -1, stdout: command.stdout(), stderr: command.stderr() }
}

/** Returns the text of every file below a folder, by relative path. */
export function filesIn(folder: string): Map<string, string> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  return new Map(
    found
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      // A lock or a draft may be gone by then.
      .filter((path) => existsSync(path))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'latin1')]),
  )
}
