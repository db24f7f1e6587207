import { createRequire } from 'node:module'
import { freePort } from '../support/server/free-port.ts'
import { type ServingProcess, startServingProcess } from './serving-process.ts'

const require = createRequire(import.meta.url)

/** Starts `@modelcontextprotocol/server-everything` with Streamable HTTP, by default on a free port. It does not authenticate callers. */
export async function startEverythingServer(given?: number): Promise<ServingProcess> {
  const program = require.resolve('@modelcontextprotocol/server-everything/dist/index.js')
  const port = given ?? (await freePort())
  return startServingProcess({
    command: process.execPath,
    args: [program, 'streamableHttp'],
    port,
    environment: { PORT: String(port) },
  })
}
