import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { buildGoProgram, goProgram } from '../../../peers/go-program.ts'

const folder = fileURLToPath(new URL('../../../peers/go-server/', import.meta.url))

/** An MCP server of the official Go SDK on 127.0.0.1. */
export interface GoServer {
  url: string
  close(): Promise<void>
}

/** Options of the server. */
export interface GoServerOptions {
  /**
   * Serves without sessions. The SDK serves 2026-07-28 only then; with sessions it offers only the earlier revisions.
   */
  stateless: boolean
  /** Port to listen on; by default any free one. */
  port?: number
  /**
   * BASE_URL of the Drawbridge that all calls have to go through, with the tools `whoami` and `count`. Undefined: no
   * check.
   */
  issuer?: string
}

/** Compiles the server; returns the result of {@link buildGoProgram}. */
export const buildGoServer = (): Promise<boolean> => buildGoProgram(folder)

/** Starts the program built by {@link buildGoServer}. It exits with this process, too. */
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
