import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  childEnvironment,
  clockAhead,
  launcher,
  refuseSecretsOfCommand,
  type ServerProcess,
  type ServerSettings,
} from './server-process.ts'

/** How a command ended. */
export interface CommandEnd {
  code: number | null
  stdout: string
  stderr: string
}

/** A running command. */
export interface RunningCommand {
  kill(signal: NodeJS.Signals): void
  ended: Promise<CommandEnd>
}

interface Place {
  cwd: string
  env: NodeJS.ProcessEnv
  node?: string
}

/** Starts the built command line, with empty stdin. */
function start(argv: readonly string[], { cwd, env, node = process.execPath }: Place): RunningCommand {
  const child = spawn(node, [launcher, ...argv], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]): CommandEnd => {
      refuseSecretsOfCommand(argv, { stdout, stderr })
      return { code: code as number | null, stdout, stderr }
    },
  )
  return { kill: (signal) => void child.kill(signal), ended }
}

/** What a command beside a server is given besides its words; its clock is that many seconds ahead. */
export interface CommandOptions {
  settings?: ServerSettings
  aheadSeconds?: number
}

/**
 * Starts the built command line in the folder of `server` with its settings, overridden by `settings` (without prefix). Passes
 * nothing else of the caller's environment.
 */
export function startCommand(
  server: ServerProcess,
  argv: readonly string[],
  { settings = {}, aheadSeconds = 0 }: CommandOptions = {},
): RunningCommand {
  const { host } = new URL(server.origin.replace('localhost', '127.0.0.1'))
  const all = { BASE_URL: server.baseUrl, LISTEN: host, APP_URL: server.appUrl, ...settings }
  const env = { ...childEnvironment(server.directory, all), ...clockAhead(aheadSeconds) }
  return start(argv, { cwd: server.directory, env })
}

/** Runs a command like {@link startCommand} to its end. */
export function runCommand(
  server: ServerProcess,
  argv: readonly string[],
  options?: CommandOptions,
): Promise<CommandEnd> {
  return startCommand(server, argv, options).ended
}

/** Runs the built command line to its end in an empty folder, if wanted on another Node. */
export async function runAlone(
  argv: readonly string[],
  { settings = {}, node }: { settings?: ServerSettings; node?: string } = {},
): Promise<CommandEnd> {
  const cwd = mkdtempSync(join(tmpdir(), 'drawbridge-e2e-'))
  try {
    return await start(argv, {
      cwd,
      env: childEnvironment(cwd, settings),
      ...(node !== undefined && { node }),
    }).ended
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}
