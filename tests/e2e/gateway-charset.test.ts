import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startExpressServer } from '../peers/express-server.ts'
import { hasPythonPeers } from '../peers/python/python-peer.ts'
import { startPythonServer } from '../peers/python/python-server.ts'
import { buildRustServer, startRustServer } from '../peers/rust-server/rust-server.ts'
import { buildGoServer, startGoServer } from '../support/bridge/process/go-server.ts'
import { freePort } from '../support/server/free-port.ts'
import { sdkClients, type SignedInClient } from './gateway-client.ts'
import { signToken, startGateway } from './gateway-server.ts'
import { createPerson } from './person.ts'
import type { ServerProcess } from './server-process.ts'

interface Upstream {
  url: string
  close(): Promise<void>
}

type Start = (where: { port: number; issuer: string }) => Promise<Upstream>

/** Encodes ASCII text in UTF-7, as the body parser of Express decodes it. */
function utf7(text: string): string {
  const base64 = Buffer.from(text, 'utf16le').swap16().toString('base64').replace(/=+$/, '')
  return `+${base64}-`
}

/** In UTF-8 a call of a harmless tool with one odd text; in UTF-7 the text ends early, and another `name` follows. */
const hidden = utf7('"},"name":"delete_everything","more":{"y":"')
const attack = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"opening_hours","arguments":{"x":"${hidden}"}}}`

const python = hasPythonPeers()
const [go, rust] = [await buildGoServer(), await buildRustServer()]

describe.each<[name: string, isThere: boolean, start: Start]>([
  ['Express', true, ({ port }) => startExpressServer('own', port)],
  ['createMcpExpressApp', true, ({ port }) => startExpressServer('sdk', port)],
  [
    'FastMCP',
    python,
    (where) => startPythonServer({ environment: 'fastmcp-4', script: 'fastmcp_server.py', ...where }),
  ],
  ['the Go SDK', go, (where) => startGoServer({ stateless: false, ...where })],
  ['the Rust SDK', rust, startRustServer],
])('in front of %s', (_name, isThere, start) => {
  let upstream: Upstream
  let server: ServerProcess
  let client: SignedInClient

  beforeAll(async () => {
    if (!isThere) return
    const own = await openTogether(start)
    ;({ upstream, server } = own)
    client = await sdkClients['sdk 1, 2025-11-25'](server, await createPerson(server))
  })
  afterAll(async () => {
    await client?.end().catch(() => {})
    await server?.close()
    await upstream?.close()
  })

  it.skipIf(!isThere)('a message is what it says in UTF-8, whatever charset is named', async () => {
    expect(await namesPastTheDoor(upstream, server)).toEqual(
      expect.arrayContaining(['opening_hours', 'delete_everything']),
    )
    expect(await client.listTools()).not.toContain('delete_everything')
    expect((await client.call('opening_hours', { x: hidden })).text).toBe('Open from 9 to 5.')
    const session = client.sessionId()
    const send = async (type: string): Promise<[status: number, text: string]> => {
      const response = await server.fetch(server.mcpUrl, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${client.provider.tokens()?.access_token}`,
          accept: 'application/json, text/event-stream',
          'content-type': type,
          'mcp-protocol-version': '2025-11-25',
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
        body: attack,
      })
      return [response.status, await response.text()]
    }
    const [status, text] = await send('application/json; charset=utf-8')
    expect([status, text]).toEqual([200, expect.stringContaining('Open from 9 to 5.')])
    for (const charset of ['utf-7', 'UTF-7', 'utf-16le', 'utf-32', 'cp037']) {
      expect([charset, ...(await send(`application/json; charset=${charset}`))]).toEqual([
        charset,
        415,
        expect.not.stringContaining('Deleted'),
      ])
    }
  })
})

/** Opens both: the upstream needs the address of the gateway, and the gateway that of the upstream. */
async function openTogether(start: Start): Promise<{ upstream: Upstream; server: ServerProcess }> {
  const port = await freePort()
  const document = { identity: ['bearer'], tools: { deny: ['delete_*'] } }
  const server = await startGateway({ url: `http://127.0.0.1:${port}/mcp`, ...document })
  return { server, upstream: await start({ port, issuer: server.baseUrl }) }
}

/** Returns the names that the upstream itself lists. */
async function namesPastTheDoor({ url }: Upstream, server: ServerProcess): Promise<string[]> {
  const authorization = `Bearer ${await signToken(server, { audience: url })}`
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization } },
  })
  const client = new Client({ name: 'past-the-door', version: '1' })
  await client.connect(transport)
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name }) => name)
}
