import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { type Child, startChild } from '../child.ts'

/** A server for bridges, in its own process. */
export interface BenchRemote {
  url: string
  /** For bridges with a fixed token, when the server requires one. */
  accessToken: string | undefined
  child: Child
  /** Delays every answer of the server from now on, and returns its counts. */
  setDelay(ms: number): Promise<RemoteCounts>
}

/** Counters of a {@link BenchRemote}. */
export interface RemoteCounts {
  /** Since the last query, without those that end a session. */
  requests: number
  /** Number of sign-ins since the start. */
  codeGrants: number
  /** Number of token renewals since the start. */
  refreshes: number
}

/**
 * `guarded` requires access tokens, and lets every browser sign in; `events` answers with event streams; `sdk` uses
 * the SDK of the 2026 era, and neither delays nor counts.
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
