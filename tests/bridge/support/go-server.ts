import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const folder = fileURLToPath(new URL('../../peers/go-server/', import.meta.url))
const program = fileURLToPath(new URL('../../peers/go-server/dist/server', import.meta.url))
const buildTimeoutMs = 300_000

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
}

/**
 * Compiles the server. Returns false and prints one line where that cannot be done, because Go is missing or its modules
 * cannot be fetched; throws instead when CI=true. Takes a minute when nothing is in Go's cache.
 */
export async function buildGoServer(environment: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  try {
    const build = ['build', '-buildvcs=false', '-o', program, '.']
    await promisify(execFile)('go', build, { cwd: folder, timeout: buildTimeoutMs })
    return true
  } catch (error) {
    const [reason] = String(error).split('\n').slice(-2)
    const text = `Go 1.25 or newer is missing, or it could not build tests/peers/go-server (${reason})`
    if (environment['CI'] === 'true') throw new Error(text, { cause: error })
    process.stderr.write(`skipped: ${text}\n`)
    return false
  }
}

/** Starts what {@link buildGoServer} made. It ends with this process, too. */
export async function startGoServer({ stateless, port = 0 }: GoServerOptions): Promise<GoServer> {
  const flags = ['-address', `127.0.0.1:${port}`, ...(stateless ? ['-stateless'] : [])]
  const child = spawn(program, flags, { stdio: ['pipe', 'pipe', 'inherit'] })
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
