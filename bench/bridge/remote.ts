import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { type Child, startChild } from '../child.ts'

/** A server that bridges stand in front of, in a process of its own. */
export interface BenchRemote {
  url: string
  /** For those who take a fixed one, when it wants access tokens. */
  accessToken: string | undefined
  child: Child
  /** Makes every answer of the server, whatever was asked, wait so long, and answers what it has counted. */
  setDelay(ms: number): Promise<RemoteCounts>
}

/** What a {@link BenchRemote} has counted. */
export interface RemoteCounts {
  /** Since the last time it was asked, without those that end a session. */
  requests: number
  /** How often somebody signed in, since the start. */
  codeGrants: number
  /** How often tokens were renewed, since the start. */
  refreshes: number
}

/**
 * `guarded` wants access tokens, and lets everybody sign in who comes with a browser; `events` answers with event streams; `sdk` is
 * of the SDK of the 2026 era, and neither waits nor counts.
 */
export type RemoteKind = 'open' | 'guarded' | 'events' | 'sdk'

const fastServer = new URL('mcp-server.ts', import.meta.url)
const sdkServer = new URL('sdk-mcp-server.ts', import.meta.url)

/** Starts the server. */
export async function startRemote(bench: Pick<Bench, 'scratch'>, kind: RemoteKind): Promise<BenchRemote> {
  const child = await startChild({
    name: `the ${kind} server behind the bridges`,
    script: fileURLToPath(kind === 'sdk' ? sdkServer : fastServer),
    argv: [kind],
    directory: bench.scratch,
    logFile: join(bench.scratch, `remote-${kind}-log`),
  })
  const { port, accessToken } = child.ready as { port: number; accessToken?: string }
  const origin = `http://127.0.0.1:${port}`
  return {
    url: `${origin}/mcp`,
    accessToken,
    child,
    async setDelay(ms) {
      const response = await fetch(`${origin}/control`, { method: 'POST', body: String(ms) })
      return (await response.json()) as RemoteCounts
    },
  }
}
