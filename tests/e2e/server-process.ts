import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileCache } from '../support/compile-cache.ts'
import { freePort } from '../support/server/free-port.ts'
import { createSecretLedger, type SecretLedger } from './secret-ledger.ts'
import { until } from '../support/until.ts'

export const launcher = fileURLToPath(new URL('../../server/launcher.cjs', import.meta.url))
const bundle = fileURLToPath(new URL('../../server/dist/main.mjs', import.meta.url))

/** Variables of a process whose clock is that many seconds ahead. */
export function clockAhead(seconds: number): Readonly<Record<string, string>> {
  if (seconds === 0) return {}
  const otherClock = new URL('../support/other-clock.ts', import.meta.url).href
  return { NODE_OPTIONS: `--import=${otherClock}`, CLOCK_AHEAD_SECONDS: String(seconds) }
}

const stopTimeoutMs = 25_000

/** Settings by variable name without the prefix, such as `{ ACCESS_TOKEN_TTL: '2s' }`. */
export type ServerSettings = Readonly<Record<string, string>>

/** How a process ended. */
interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** One line of the structured log. */
type LogLine = Readonly<Record<string, unknown>> & { event: string }

/** A built server in its own process, with its own ports, data folder and empty home. */
export interface ServerProcess {
  readonly baseUrl: string
  /** Address of this process itself; differs from the base URL behind a load balancer. */
  readonly origin: string
  readonly appUrl: string
  readonly mcpUrl: string
  /** Working directory; the data is in `.drawbridge/` below it. */
  readonly directory: string
  /** Secrets that tests sent or received through {@link fetch}; other requests are recorded for all servers. */
  readonly secrets: SecretLedger
  fetch: SecretLedger['fetch']
  /** Returns the output of all runs of the process so far. */
  stdout(): string
  stderr(): string
  /** Returns the log lines of that event, in order. */
  events(event: string): LogLine[]
  /** Resolves when the log has a line of that event. */
  waitForEvent(event: string): Promise<LogLine>
  /** Sends a signal that does not end it. */
  signal(signal: NodeJS.Signals): void
  /** Sends the signal and waits for the process to end. */
  kill(signal: NodeJS.Signals): Promise<Exit>
  /** Starts again after {@link kill}, on the same ports and data, with a clock that is `aheadSeconds` ahead. */
  start(when?: { aheadSeconds: number }): Promise<void>
  /**
   * Ends the process and removes its folder. Throws if it did not end by itself on SIGTERM, if its output contains a secret known
   * to any test of this process, or if it logged a failure that no test provoked.
   */
  close(): Promise<void>
}

/** The addresses of a server, and a way to reach them: all that its clients and their users need. */
export type ServerAddress = Pick<ServerProcess, 'baseUrl' | 'appUrl' | 'mcpUrl' | 'fetch'>

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * Starts the built server with debug logging and waits for its ready line. It listens on its own port, even if `settings` contain
 * another BASE_URL. `node` runs it on another Node, `program` is another launcher; `environment` is passed unchanged.
 */
export async function startServer(
  settings: ServerSettings = {},
  given: { node?: string; program?: string; environment?: Readonly<Record<string, string>> } = {},
): Promise<ServerProcess> {
  if (!existsSync(bundle)) throw new Error('There is no built server. Run npm run build first.')
  const { node = process.execPath, program = launcher } = given
  const directory = mkdtempSync(join(tmpdir(), 'drawbridge-e2e-'))
  const port = await freePort()
  const baseUrl = settings['BASE_URL'] ?? `http://localhost:${port}`
  const appUrl = settings['APP_URL'] ?? `http://localhost:${await freePort()}`
  const named = childEnvironment(directory, {
    BASE_URL: baseUrl,
    LISTEN: `127.0.0.1:${port}`,
    APP_URL: appUrl,
    LOG: 'debug',
    // Many tests call as one user as fast as they can.
    CALL_LIMIT: 'off',
    CALLS_AT_ONCE: 'off',
    ...settings,
  })
  const environment = { ...named, ...given.environment }
  const secrets = createSecretLedger()
  noteSecretSettings(settings, secrets)
  let stdout = ''
  let stderr = ''
  let child: ChildProcess | undefined
  let killed = false
  let ended: Promise<Exit> = Promise.resolve({ code: null, signal: null })

  const server: ServerProcess = {
    baseUrl,
    origin: `http://localhost:${port}`,
    appUrl,
    mcpUrl: `${baseUrl}/mcp`,
    directory,
    secrets,
    fetch: secrets.fetch,
    stdout: () => stdout,
    stderr: () => stderr,
    events: (event) => logLines(stderr).filter((line) => line.event === event),
    async waitForEvent(event) {
      await until(() => server.events(event).length > 0, `the log line ${event}`)
      return server.events(event)[0] as LogLine
    },
    signal: (signal) => void child?.kill(signal),
    async kill(signal) {
      killed = true
      child?.kill(signal)
      const exit = await Promise.race([ended, timeout(stopTimeoutMs)])
      if (exit) return exit
      child?.kill('SIGKILL')
      throw new Error(`The server did not end within ${stopTimeoutMs} ms of ${signal}.\n${stderr}`)
    },
    async start({ aheadSeconds } = { aheadSeconds: 0 }) {
      killed = false
      const before = stdout.length
      const env = { ...environment, ...clockAhead(aheadSeconds) }
      child = spawn(node, [program, '--json'], { cwd: directory, env })
      child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
      child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
      ended = endOf(child)
      let exit: Exit | undefined
      void ended.then((how) => (exit = how))
      await until(
        () => exit !== undefined || stdout.slice(before).includes('"event":"ready"'),
        () => `the ready line; the server said:\n${stdout.slice(before)}${stderr}`,
      )
      if (exit) throw new Error(`The server ended with ${exit.code ?? exit.signal} at its start:\n${stderr}`)
    },
    async close() {
      try {
        if (!killed) {
          const how = child?.exitCode ?? child?.signalCode
          if (how !== null) throw new Error(`The server ended by itself with ${how}:\n${stderr.slice(-4000)}`)
          const { code } = await server.kill('SIGTERM')
          if (code !== 0) throw new Error(`The server ended with ${code} on SIGTERM:\n${stderr}`)
        }
        refuseSecrets('the server', stdout + stderr)
        const failures = [...server.events('request_failed'), ...server.events('tool_failed')]
        if (failures.length > 0)
          throw new Error(`The server failed: ${JSON.stringify(failures, undefined, 2)}`)
      } finally {
        rmSync(directory, { recursive: true, force: true })
      }
    },
  }
  try {
    await server.start()
    return server
  } catch (error) {
    child?.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
    throw error
  }
}

/** Throws if `output` contains a secret known to any test of this process, or anything that looks like one. */
function refuseSecrets(whose: string, output: string): void {
  const leaked = createSecretLedger().findIn(output)
  if (leaked.length > 0) throw new Error(`The output of ${whose} contains: ${leaked.join(', ')}.`)
}

/** Calls {@link refuseSecrets} for the output of a command line. The secrets that `clients add` prints may be in its stdout. */
export function refuseSecretsOfCommand(
  argv: readonly string[],
  { stdout, stderr }: { stdout: string; stderr: string },
): void {
  const name = argv.slice(0, 2).join(' ')
  refuseSecrets(`drawbridge-server ${name}`, name === 'clients add' ? stderr : stdout + stderr)
}

function noteSecretSettings(settings: ServerSettings, secrets: SecretLedger): void {
  for (const name of ['PROVIDER_CLIENT_SECRET', 'PROVIDER_JWT_SECRET', 'SIGN_IN_SECRET']) {
    secrets.note(name, settings[name] ?? '')
  }
  for (const key of (settings['SECRET_KEYS'] ?? '').split(',')) {
    if (!key.startsWith('file:')) secrets.note('SECRET_KEYS', key.replace(/^[^:]*:/, ''))
  }
  const store = settings['STORE'] ?? ''
  if (store.startsWith('postgres') && URL.canParse(store)) secrets.note('STORE', new URL(store).password)
}

/** Returns an environment without the caller's: no setting, proxy or home of this machine affects a test. */
export function childEnvironment(directory: string, settings: ServerSettings): Record<string, string> {
  const home = join(directory, 'home')
  mkdirSync(home, { recursive: true })
  const given = Object.entries(settings).map(([name, value]) => [`DRAWBRIDGE_${name}`, value])
  return { PATH: process.env['PATH'] ?? '', HOME: home, ...compileCache, ...Object.fromEntries(given) }
}

function endOf(child: ChildProcess): Promise<Exit> {
  running.add(child)
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve({ code, signal })
    })
  })
}

function timeout(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref()
  })
}

/** Parses the complete JSON lines of a log; the last line of a killed process may be incomplete. */
export function logLines(text: string): LogLine[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as LogLine] : []
    } catch {
      return []
    }
  })
}
