import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const folder = import.meta.dirname
const program = join(folder, 'dist', 'dex')
const run = promisify(execFile)
const buildTimeoutMs = 8 * 60_000

/** The client that is registered at a {@link DexServer}, and the password of its accounts, ada and bea @example.com. */
export const dexClient = { id: 'drawbridge', secret: 'secret of drawbridge at dex' } as const
export const dexPassword = 'password of everybody at dex'

/** A real dex in a process of its own, on a free loopback port. It keeps everything in memory. */
export interface DexServer {
  issuer: string
  close(): Promise<void>
}

/** Whether there is Go here that can build dex: at least the version that go.mod asks for. */
export async function hasGo(): Promise<boolean> {
  try {
    const environment = { ...process.env, GOTOOLCHAIN: 'local' }
    await run('go', ['list', '-m'], { cwd: folder, env: environment })
    return true
  } catch {
    return false
  }
}

/** Builds dex from its Go module, at the version in go.mod. Takes minutes the first time, a second after that. */
export async function buildDex(): Promise<void> {
  await run('go', ['build', '-o', program, '.'], { cwd: folder, timeout: buildTimeoutMs })
}

/** Starts dex as {@link buildDex} built it. Its tokens are good for `tokenSeconds`; refresh tokens have no end. */
export async function startDex(options: { callbackUrl: string; tokenSeconds: number }): Promise<DexServer> {
  const { stdout: sources } = await run('go', ['list', '-m', '-f', '{{.Dir}}', 'github.com/dexidp/dex'], {
    cwd: folder,
  })
  const child = spawn(
    program,
    [
      `-web=${join(sources.trim(), 'web')}`,
      `-callback=${options.callbackUrl}`,
      `-life=${options.tokenSeconds}s`,
    ],
    {
      env: { DEX_CLIENT_SECRET: dexClient.secret, DEX_PASSWORD: dexPassword },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const ended = once(child, 'close')
  const close = async (): Promise<void> => {
    child.stdin.end()
    await ended
  }
  const issuer = await Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => String(line)),
    ended.then(() => undefined),
  ])
  if (issuer === undefined) throw new Error('dex ended at its start.')
  return { issuer, close }
}
