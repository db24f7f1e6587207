import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../../e2e/gateway-server.ts'
import { createPerson } from '../../e2e/person.ts'
import { registerPlainClient } from '../../e2e/plain-client.ts'
import type { ServerProcess } from '../../e2e/server-process.ts'
import { hasPythonPeers, inEnvironment, type PythonPeer } from './python-peer.ts'

// Another test counts the processes whose command line has the path of the file that this link leads to.
const everything = fileURLToPath(new URL('../../../node_modules/.bin/mcp-server-everything', import.meta.url))
const sdkServer = fileURLToPath(new URL('../stdio/sdk-server.mjs', import.meta.url))
const program = fileURLToPath(new URL('asking_client.py', import.meta.url))
const libraries: PythonPeer['library'][] = ['mcp', 'fastmcp']

interface Run {
  version?: string
  texts?: string[]
  failed?: string
}

/** Runs `asking_client.py` with the access token of a person who has signed in. */
async function run(
  server: ServerProcess,
  library: PythonPeer['library'],
  [mode, ...tools]: string[],
): Promise<Run> {
  const { access_token: token } = await (
    await registerPlainClient(server)
  ).connect(await createPerson(server))
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: server.directory }
    const python = inEnvironment('mcp-2', 'bin/python')
    const child = execFile(
      python,
      [program, library, server.mcpUrl, mode ?? '', ...tools],
      { env, timeout: 60_000 },
      (error, stdout) => (error ? reject(error) : resolve(JSON.parse(stdout) as Run)),
    )
    child.stdin?.end(`${token}\n`)
  })
}

describe.skipIf(!hasPythonPeers())('a Python client that can be asked', { timeout: 120_000 }, () => {
  let earlier: ServerProcess
  let later: ServerProcess
  beforeAll(async () => {
    earlier = await startGateway({ command: process.execPath, args: [everything, 'stdio'] })
    later = await startGateway({ command: process.execPath, args: [sdkServer] })
  })
  afterAll(() => Promise.all([earlier?.close(), later?.close()]))

  it.each(libraries)(
    'a client of %s falls back to 2025-11-25 before a command of that revision, which asks it for input and sampling',
    async (library) => {
      const tools = ['trigger-elicitation-request', 'trigger-sampling-request']
      expect(await run(earlier, library, ['auto', ...tools])).toEqual({
        version: '2025-11-25',
        texts: [
          expect.stringContaining('provided the requested information'),
          expect.stringContaining('what the model says'),
        ],
      })
    },
  )

  it.each(libraries)(
    'a client of %s finds 2026-07-28 before a command that speaks it, and is asked',
    async (library) => {
      expect(await run(later, library, ['auto', 'sure'])).toEqual({
        version: '2026-07-28',
        texts: [expect.stringContaining('accept')],
      })
    },
  )

  it.each(libraries)(
    'a client of %s that speaks 2026-07-28 only learns that the command does not',
    async (library) => {
      expect(await run(earlier, library, ['2026-07-28', 'echo'])).toEqual({
        failed: expect.stringContaining('does not know 2026-07-28'),
      })
    },
  )
})
