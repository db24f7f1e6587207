import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AssertionSigner } from '../../server/core/gateway/assertion.ts'
import { keyFileEntries } from '../../server/store/secret-key-file.ts'
import { callerSample } from '../support/server/mcp/tool-fixture.ts'
import { type ServerProcess, type ServerSettings, startServer } from './server-process.ts'

/** Starts the built server in front of the upstream of that document. */
export async function startGateway(
  upstream: Readonly<Record<string, unknown>>,
  settings: ServerSettings = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-upstream-'))
  const path = join(folder, 'upstream.json')
  writeFileSync(path, JSON.stringify(upstream))
  const server = await startServer({ UPSTREAM: path, ...settings }, { environment })
  return {
    ...server,
    async close() {
      rmSync(folder, { recursive: true, force: true })
      await server.close()
    },
  }
}

/** Contents of a token signed with the keys of a server, or with others. */
export interface SignedToken {
  audience: string
  /** Its age; by default 0. */
  ageSeconds?: number
  /** Signs with keys of its own instead of the server's. */
  isForged?: boolean
}

/** Signs a token as {@link startGateway} sends it to its upstream, with the server's own keys. */
export function signToken(
  { baseUrl, directory }: ServerProcess,
  { audience, ageSeconds = 0, isForged = false }: SignedToken,
): Promise<string> {
  const entries = keyFileEntries(readFileSync(join(directory, '.drawbridge', 'secret-keys'), 'utf8'))
  const keys = entries.map((entry) => {
    const [kid = '', key = ''] = entry.split(':')
    return { kid, key: isForged ? randomBytes(32) : Buffer.from(key, 'base64') }
  })
  const signer = new AssertionSigner({
    ring: { keys: () => keys },
    issuer: baseUrl,
    audience,
    type: 'at+jwt',
    runtime: { now: () => Math.floor(Date.now() / 1000) - ageSeconds, randomBytes },
  })
  return signer.assert({
    ...callerSample,
    user: { ...callerSample.user, email: 'signed@example.com' },
  })
}
