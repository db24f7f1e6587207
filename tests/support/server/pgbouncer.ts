import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServingProcess } from '../../peers/serving-process.ts'
import { findProgram, skipWithout } from '../find-program.ts'
import { freePort } from './free-port.ts'

/** Returns whether PgBouncer can be run. Prints one line if not, and throws instead when CI=true. */
export function hasPgbouncer(): boolean {
  return (
    findProgram('pgbouncer') !== undefined ||
    skipWithout('PgBouncer is missing: install the apt package `pgbouncer`')
  )
}

/** PgBouncer in transaction mode: two statements of one connection may meet two connections of the database. */
export interface Pgbouncer {
  /** Returns the address of the database at `url` through the pooler, with `pooler=transaction`. */
  url(url: string): string
  close(): Promise<void>
}

/** Starts PgBouncer before the Postgres of `url`, for its user and all databases, with few connections to it. */
export async function startPgbouncer(
  url: string,
  { connections = 4 }: { connections?: number } = {},
): Promise<Pgbouncer> {
  const port = await freePort()
  const { hostname, port: serverPort, username, password } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-pgbouncer-'))
  // It refuses to run as root, and then reads its files as another user.
  const account = process.getuid?.() === 0 ? 'user = nobody' : ''
  chmodSync(folder, 0o755)
  const users = join(folder, 'users.txt')
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`)
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${connections}
max_client_conn = 1000
${account}
`,
  )
  const running = await startServingProcess({
    command: findProgram('pgbouncer') ?? '',
    args: [settings],
    port,
  })
  return {
    url(of) {
      const pooled = new URL(of)
      pooled.port = String(port)
      pooled.searchParams.set('pooler', 'transaction')
      return pooled.href
    },
    async close() {
      await running.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
