import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { bridgeLauncher, environmentOf } from '../../support/bridge/process/bridge-child.ts'
import { startLegacySdkServer, startModernSdkServer } from '../../support/bridge/process/sdk-server.ts'
import { type Stage, staged } from '../../support/bridge/process/stage.ts'
import { hasPythonPeers, inEnvironment, type PythonPeer } from './python-peer.ts'

const program = fileURLToPath(new URL('asking_client.py', import.meta.url))
const libraries: PythonPeer['library'][] = ['mcp', 'fastmcp']

/** Runs `asking_client.py`, which starts the bridge to `url` itself. */
function run(
  { home }: Stage,
  library: PythonPeer['library'],
  [url, mode, ...tools]: [url: string, mode: string, ...tools: string[]],
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const command = JSON.stringify([process.execPath, bridgeLauncher, url, '--no-open'])
    const child = execFile(
      inEnvironment('mcp-2', 'bin/python'),
      [program, library, command, mode, ...tools],
      { env: environmentOf({ home }), timeout: 60_000 },
      (error, stdout) => (error ? reject(error) : resolve(JSON.parse(stdout))),
    )
    child.stdin?.end('\n')
  })
}

describe.skipIf(!hasPythonPeers())('a Python client that starts the bridge', { timeout: 120_000 }, () => {
  it.each(libraries)(
    'a client of %s behind the bridge falls back to 2025-11-25 before a server of that revision, which asks it for input and sampling',
    (library) =>
      staged(async (stage) => {
        const { url } = await startLegacySdkServer(stage)
        expect(await run(stage, library, [url, 'auto', 'elicit', 'sample'])).toEqual({
          version: '2025-11-25',
          texts: [expect.stringContaining('Ada'), expect.stringContaining('what the model says')],
        })
      })(),
  )

  it.each(libraries)(
    'a client of %s behind the bridge finds 2026-07-28 before a server of that revision, and is asked',
    (library) =>
      staged(async (stage) => {
        const { url } = await startModernSdkServer(stage, { only: true })
        expect(await run(stage, library, [url, 'auto', 'elicit', 'sample'])).toEqual({
          version: '2026-07-28',
          texts: [expect.stringContaining('Ada'), expect.stringContaining('what the model says')],
        })
      })(),
  )

  it.each(libraries)(
    'a client of %s behind the bridge that speaks 2025 only reaches a server of 2026-07-28, and is asked',
    (library) =>
      staged(async (stage) => {
        const { url } = await startModernSdkServer(stage, { only: true })
        expect(await run(stage, library, [url, 'legacy', 'elicit', 'sample'])).toEqual({
          version: '2025-11-25',
          texts: [expect.stringContaining('Ada'), expect.stringContaining('what the model says')],
        })
      })(),
  )

  it.each(libraries)(
    'a client of %s behind the bridge that speaks 2026-07-28 only learns that the server does not',
    (library) =>
      staged(async (stage) => {
        const { url } = await startLegacySdkServer(stage)
        expect(await run(stage, library, [url, '2026-07-28', 'echo'])).toEqual({
          failed: expect.stringContaining('MCP 2026-07-28 is not available here'),
        })
      })(),
  )
})
