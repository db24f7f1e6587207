import { fileURLToPath } from 'node:url'
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type CommandClient,
  type CommandFixture,
  openCommand,
  upstreamSample,
} from '../../../tests/support/server/mcp/command-fixture.ts'

const opened: CommandFixture[] = []
const clients: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((each) => each.close()))
  const all = opened.splice(0)
  await Promise.all(all.map((each) => each.close()))
  expect(all.flatMap((each) => each.processes())).toEqual([])
})

function open(script: string): CommandFixture {
  const path = fileURLToPath(new URL(`../../../tests/peers/stdio/${script}`, import.meta.url))
  const fixture = openCommand(upstreamSample([], { args: [path] }))
  opened.push(fixture)
  return fixture
}

const url = new URL('http://localhost/mcp')
const info = { name: 'test', version: '1' }
const accepted = { action: 'accept' as const, content: {} }

/** What the tests need of a client of any SDK. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: object }, onprogress?: (sum: number) => void): Promise<unknown>
  readResource(uri: string): Promise<unknown>
  serverName(): string | undefined
}

async function connect2026(
  { fetch }: CommandClient,
  version: '2025-11-25' | '2026-07-28',
): Promise<AnyClient> {
  const mode = version === '2026-07-28' ? { pin: version } : 'legacy'
  const client = new Client(info, { capabilities: { elicitation: {} }, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', async () => accepted)
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }))
  clients.push(client)
  expect(client.getNegotiatedProtocolVersion()).toBe(version)
  return {
    listTools: () => client.listTools(),
    callTool: (call, onprogress) =>
      client.callTool(call as never, onprogress && { onprogress: ({ progress }) => onprogress(progress) }),
    readResource: (uri) => client.readResource({ uri }),
    serverName: () => client.getServerVersion()?.name,
  }
}

async function connectEarlier({ fetch }: CommandClient): Promise<AnyClient> {
  const client = new EarlierClient(info, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, async () => accepted)
  await client.connect(new EarlierTransport(url, { fetch }))
  clients.push(client)
  return {
    listTools: () => client.listTools(),
    callTool: (call, onprogress) =>
      client.callTool(
        call as never,
        undefined,
        onprogress && { onprogress: ({ progress }) => onprogress(progress) },
      ),
    readResource: (uri) => client.readResource({ uri }),
    serverName: () => client.getServerVersion()?.name,
  }
}

const connections = {
  'of the SDK 1': connectEarlier,
  'of the SDK 2 by initialize': (client: CommandClient) => connect2026(client, '2025-11-25'),
  'of the SDK 2 at 2026-07-28': (client: CommandClient) => connect2026(client, '2026-07-28'),
}

describe.each(['sdk-server.mjs', 'sdk-1-server.mjs'])('%s', (script) => {
  it.each(Object.entries(connections))('serves a client %s', async (_, connect) => {
    const fixture = open(script)
    const client = await connect(fixture.client())
    expect(client.serverName()).toBe(script === 'sdk-server.mjs' ? 'sdk-2' : 'sdk-1')
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add', 'sure'])
    const progress: number[] = []
    const call = { name: 'add', arguments: { a: 1, b: 2 } }
    expect(await client.callTool(call, (sum) => progress.push(sum))).toMatchObject({
      structuredContent: { sum: 3 },
    })
    expect(progress).toEqual([3])
    expect(await client.readResource('test://one')).toMatchObject({ contents: [{ text: 'one' }] })
    const many = [...Array(50).keys()].map((a) => client.callTool({ name: 'add', arguments: { a, b: 1 } }))
    expect(
      (await Promise.all(many)).map((each) => (each as { structuredContent: unknown }).structuredContent),
    ).toEqual([...Array(50).keys()].map((a) => ({ sum: a + 1 })))
    await expect(client.callTool({ name: 'none', arguments: {} })).rejects.toThrow('There is no tool "none"')
  })

  it.each(Object.entries(connections))('asks a client %s', async (label, connect) => {
    const client = await connect(open(script).client())
    const answer = JSON.stringify(await client.callTool({ name: 'sure', arguments: {} }))
    // A server of an earlier revision cannot ask in a result.
    if (script === 'sdk-1-server.mjs' && label.includes('2026'))
      expect(answer).toMatch(/does not support|declared/)
    else expect(answer).toContain('accept')
  })
})
