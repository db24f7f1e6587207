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

interface Place {
  cwd: string
  env: NodeJS.ProcessEnv
  node?: string
  stdin?: string
}

/** Runs the built command line to its end, with empty stdin or the given one. */
async function run(
  argv: readonly string[],
  { cwd, env, node = process.execPath, stdin = '' }: Place,
): Promise<CommandEnd> {
  const child = spawn(node, [launcher, ...argv], { cwd, env, stdio: 'pipe' })
  child.stdin.end(stdin)
  const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)])
  const [[code], stdout, stderr] = await ended
  refuseSecretsOfCommand(argv, { stdout, stderr })
  return { code: code as number | null, stdout, stderr }
}

/** Options of a command beside a server; its clock is that many seconds ahead. */
export interface CommandOptions {
  settings?: ServerSettings
  aheadSeconds?: number
  stdin?: string
}

/**
 * Runs the built command line to its end in the folder of `server` with its settings, overridden by `settings` (without prefix).
 * Passes nothing else of the caller's environment.
 */
export function runCommand(
  server: ServerProcess,
  argv: readonly string[],
  { settings = {}, aheadSeconds = 0, stdin = '' }: CommandOptions = {},
): Promise<CommandEnd> {
  const { host } = new URL(server.origin.replace('localhost', '127.0.0.1'))
  const all = { BASE_URL: server.baseUrl, LISTEN: host, APP_URL: server.appUrl, ...settings }
  const env = { ...childEnvironment(server.directory, all), ...clockAhead(aheadSeconds) }
  return run(argv, { cwd: server.directory, env, stdin })
}

/** Runs the built command line to its end in `folder`, with settings by variable name without prefix and nothing else of the caller's environment. */
export function runIn(
  folder: string,
  argv: readonly string[],
  settings: ServerSettings = {},
): Promise<CommandEnd> {
  const { HOME: _, ...env } = childEnvironment(join(folder, '..'), settings)
  return run(argv, { cwd: folder, env })
}

/** Runs the built command line to its end in an empty folder, if wanted on another Node. */
export async function runAlone(
  argv: readonly string[],
  { settings = {}, node }: { settings?: ServerSettings; node?: string } = {},
): Promise<CommandEnd> {
  const cwd = mkdtempSync(join(tmpdir(), 'drawbridge-e2e-'))
  try {
    const env = childEnvironment(cwd, settings)
    return await run(argv, { cwd, env, ...(node !== undefined && { node }) })
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}
