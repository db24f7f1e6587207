import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { buildGoProgram, goProgram } from '../../../peers/go-program.ts'

const folder = fileURLToPath(new URL('../../../peers/go-server/', import.meta.url))

/** An MCP server of the official Go SDK that runs on 127.0.0.1. */
export interface GoServer {
  url: string
  close(): Promise<void>
}

/** How it serves. */
export interface GoServerOptions {
  /** Without sessions. The SDK serves 2026-07-28 only then; with sessions it names the earlier revisions alone. */
  stateless: boolean
  /** Port to listen on; any that is free when left out. */
  port?: number
  /** BASE_URL of the Drawbridge that all calls have to come through, with the tools `whoami` and `count`. Undefined: no check. */
  issuer?: string
}

/** Compiles the server; answers as {@link buildGoProgram} does. */
export const buildGoServer = (): Promise<boolean> => buildGoProgram(folder)

/** Starts what {@link buildGoServer} made. It ends with this process, too. */
export async function startGoServer({ stateless, port = 0, issuer }: GoServerOptions): Promise<GoServer> {
  const flags = [
    '-address',
    `127.0.0.1:${port}`,
    ...(stateless ? ['-stateless'] : []),
    ...(issuer === undefined ? [] : ['-issuer', issuer]),
  ]
  const child = spawn(goProgram(folder), flags, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  const url = await Promise.race([
    once(lines, 'line').then(([line]) => String(line)),
    ended.then(() => Promise.reject(new Error('The Go server ended before it listened.'))),
  ])
  return {
    url,
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
