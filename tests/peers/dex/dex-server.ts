import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { buildGoProgram, goProgram } from '../go-program.ts'

const folder = import.meta.dirname
const run = promisify(execFile)

/** The client registered at a {@link DexServer}, and the password of its accounts, ada and bea @example.com. */
export const dexClient = { id: 'drawbridge', secret: 'secret of drawbridge at dex' } as const
export const dexPassword = 'password of everybody at dex'

/** A real dex in a separate process, on a free loopback port, with everything in memory. */
export interface DexServer {
  issuer: string
  close(): Promise<void>
}

/** Builds dex from its Go module, at the version in go.mod; returns the result of {@link buildGoProgram}. */
export const buildDex = (): Promise<boolean> => buildGoProgram(folder)

/** Starts the dex built by {@link buildDex}. Its tokens are valid for `tokenSeconds`; refresh tokens do not expire. */
export async function startDex(options: { callbackUrl: string; tokenSeconds: number }): Promise<DexServer> {
  const { stdout: sources } = await run('go', ['list', '-m', '-f', '{{.Dir}}', 'github.com/dexidp/dex'], {
    cwd: folder,
  })
  const child = spawn(
    goProgram(folder),
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
