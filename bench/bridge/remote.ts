import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { type Child, startChild } from '../child.ts'

/** The server that every bridge stands in front of, in a process of its own. */
export interface BenchRemote {
  url: string
  child: Child
  /** Makes every answer wait so long, and answers how many requests there were since the last time. */
  setDelay(ms: number): Promise<number>
}

/** Starts the server. */
export async function startRemote(bench: Bench): Promise<BenchRemote> {
  const child = await startChild({
    name: 'the server behind the bridges',
    script: fileURLToPath(new URL('mcp-server.ts', import.meta.url)),
    directory: bench.scratch,
    logFile: join(bench.scratch, 'remote-log'),
  })
  const origin = `http://127.0.0.1:${Number(child.ready['port'])}`
  return {
    url: `${origin}/mcp`,
    child,
    async setDelay(ms) {
      const response = await fetch(`${origin}/control`, { method: 'POST', body: String(ms) })
      return Number(await response.text())
    },
  }
}
