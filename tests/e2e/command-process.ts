import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { refuseSecretsOfCommand, type ServerProcess, type ServerSettings } from './server-process.ts'

const launcher = fileURLToPath(new URL('../../server/launcher.cjs', import.meta.url))

const otherClock = new URL('../support/other-clock.ts', import.meta.url).href

/** What a command is given besides its words; its clock is that many seconds ahead. */
export interface CommandOptions {
  settings?: ServerSettings
  input?: string
  aheadSeconds?: number
}

/** How a command next to a server ended. */
export interface CommandEnd {
  code: number | null
  stdout: string
  stderr: string
}

/** A command running next to a server. */
export interface RunningCommand {
  kill(signal: NodeJS.Signals): void
  ended: Promise<CommandEnd>
}

/**
 * Starts the built command line in the folder of `server` with its settings, overridden by `settings` (without prefix). `input` is
 * all of stdin. Passes nothing else of the caller's environment.
 */
export function startCommand(
  server: ServerProcess,
  argv: readonly string[],
  { settings = {}, input = '', aheadSeconds = 0 }: CommandOptions = {},
): RunningCommand {
  const { host } = new URL(server.origin.replace('localhost', '127.0.0.1'))
  const all = { BASE_URL: server.baseUrl, LISTEN: host, APP_URL: server.appUrl, ...settings }
  const named = Object.entries(all).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])
  const clock = aheadSeconds > 0 && {
    NODE_OPTIONS: `--import=${otherClock}`,
    CLOCK_AHEAD_SECONDS: String(aheadSeconds),
  }
  const env = { PATH: process.env['PATH'] ?? '', ...Object.fromEntries(named), ...clock }
  const child = spawn(process.execPath, [launcher, ...argv], { cwd: server.directory, env })
  child.stdin.end(input)
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]): CommandEnd => {
      refuseSecretsOfCommand(argv, { stdout, stderr })
      return { code: code as number | null, stdout, stderr }
    },
  )
  return { kill: (signal) => void child.kill(signal), ended }
}

/** Runs a command like {@link startCommand} to its end. */
export function runCommand(
  server: ServerProcess,
  argv: readonly string[],
  options?: CommandOptions,
): Promise<CommandEnd> {
  return startCommand(server, argv, options).ended
}
