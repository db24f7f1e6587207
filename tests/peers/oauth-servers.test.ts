import { describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { freePort } from '../support/server/free-port.ts'
import { login, openBridge } from '../reports/odd-server.ts'
import { hasPythonPeers, inEnvironment, type PythonEnvironment } from './python/python-peer.ts'
import { type ServingProcess, startServingProcess } from './serving-process.ts'

interface Call {
  tool: string
  arguments: Record<string, string>
  text: string
}

/** Signs in, calls a tool, and does so again in a second process, which has the login. */
async function connectTwice(stage: Stage, url: string, call: Call): Promise<void> {
  const signedIn = await login(stage, url)
  expect(signedIn.stderr).not.toContain('failed')
  expect(signedIn.code).toBe(0)
  for (const _process of [1, 2]) {
    const { bridge } = await openBridge(stage, url)
    expect(await bridge.call(call.tool, call.arguments)).toBe(call.text)
    await bridge.close()
  }
}

async function expiryOf(stage: Stage, url: string): Promise<number> {
  const { stdout } = await stage.command(['status', url, '--json', '--store', 'file'])
  return (JSON.parse(stdout) as { logins: { expires_at: number }[] }).logins[0]?.expires_at ?? 0
}

const python: [name: string, environment: PythonEnvironment, library: 'mcp' | 'fastmcp'][] = [
  ['mcp 1', 'mcp-1', 'mcp'],
  ['mcp 2', 'mcp-2', 'mcp'],
  ['FastMCP 3', 'fastmcp-3', 'fastmcp'],
  ['FastMCP 4', 'fastmcp-4', 'fastmcp'],
]

async function startPython(
  stage: Stage,
  environment: PythonEnvironment,
  library: string,
  ttlSeconds: number,
): Promise<ServingProcess> {
  const port = await freePort()
  const program = fileURLToPath(new URL('python/oauth_server.py', import.meta.url))
  const command = inEnvironment(environment, 'bin/python')
  const args = [program, library, String(port), String(ttlSeconds)]
  const server = await startServingProcess({ command, args, port })
  stage.later(() => server.close())
  return server
}

describe.skipIf(!hasPythonPeers())('the bridge at the OAuth of', { timeout: 120_000 }, () => {
  it.each(python)(
    'the bridge at the OAuth of %s signs in, calls, and goes on in another process',
    (_name, environment, library) =>
      staged(async (stage) => {
        const { url } = await startPython(stage, environment, library, 3600)
        const call = { tool: 'echo', arguments: { text: 'hello' }, text: 'hello' }
        await connectTwice(stage, url, call)
        const out = await stage.command(['logout', url, '--json', '--store', 'file'])
        expect(out.stdout).toContain('"ok":true')
      })(),
  )

  it.each(python)('the bridge at the OAuth of %s renews expired tokens', (_name, environment, library) =>
    staged(async (stage) => {
      const { url } = await startPython(stage, environment, library, 2)
      expect((await login(stage, url)).code).toBe(0)
      const first = await expiryOf(stage, url)
      const { bridge } = await openBridge(stage, url)
      const call = async (): Promise<number> => {
        expect(await bridge.call('echo', { text: 'again' })).toBe('again')
        return expiryOf(stage, url)
      }
      await expect.poll(call, { timeout: 20_000 }).toBeGreaterThan(first)
    })(),
  )
})

describe('the bridge at the OAuth of the example server of the TypeScript SDK', { timeout: 60_000 }, () => {
  it.each(['--oauth', '--oauth-strict'])(
    'the bridge at the example server of the TypeScript SDK signs in, calls, and goes on in another process: %s',
    (flag) =>
      staged(async (stage) => {
        const [port, authPort] = [await freePort(), await freePort()]
        const program = import.meta
          .resolve('@modelcontextprotocol/sdk/examples/server/simpleStreamableHttp.js')
        const server = await startServingProcess({
          command: process.execPath,
          args: [fileURLToPath(program), '--oauth', ...(flag === '--oauth' ? [] : [flag])],
          port,
          environment: { MCP_PORT: String(port), MCP_AUTH_PORT: String(authPort) },
        })
        stage.later(() => server.close())
        const call = { tool: 'greet', arguments: { name: 'Ada' }, text: 'Hello, Ada!' }
        await connectTwice(stage, `http://localhost:${port}/mcp`, call)
      })(),
  )
})
