import { fileURLToPath } from 'node:url'
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, it } from 'vitest'
import {
  callerOf,
  type CommandClient,
  type CommandFixture,
  createCommands,
} from '../../../tests/support/server/mcp/command-fixture.ts'

const { open: openWith, end } = createCommands()
const clients: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(clients.splice(0).map((each) => each.close()))
  expect(await end()).toEqual([])
})

const maxPerUser = 4

function open(script: string): CommandFixture {
  const path = fileURLToPath(new URL(`../../../${script}`, import.meta.url))
  return openWith([], { args: [path, 'stdio'], maxProcesses: 20, maxPerUser })
}

const url = new URL('http://localhost/mcp')
const info = { name: 'test', version: '1' }
const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const accepted = { action: 'accept' as const, content: {} }
const sampled = {
  role: 'assistant' as const,
  model: 'a model',
  content: { type: 'text' as const, text: 'what the model says' },
}
const roots = { roots: [{ uri: 'file:///of/the/client', name: 'of the client' }] }

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
  mode: 'legacy' | 'auto' | { pin: string } = version === '2026-07-28' ? { pin: version } : 'legacy',
): Promise<AnyClient> {
  const client = new Client(info, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', async () => accepted)
  client.setRequestHandler('sampling/createMessage', async () => sampled)
  client.setRequestHandler('roots/list', async () => roots)
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
  const client = new EarlierClient(info, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, async () => accepted)
  client.setRequestHandler(CreateMessageRequestSchema, async () => sampled)
  client.setRequestHandler(ListRootsRequestSchema, async () => roots)
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
  'of the SDK 2 that finds 2026-07-28': (client: CommandClient) => connect2026(client, '2026-07-28', 'auto'),
  'of the SDK 2 that finds 2025-11-25': (client: CommandClient) => connect2026(client, '2025-11-25', 'auto'),
}

it.each<[script: string, client: keyof typeof connections]>([
  ['sdk-server.mjs', 'of the SDK 1'],
  ['sdk-server.mjs', 'of the SDK 2 by initialize'],
  ['sdk-server.mjs', 'of the SDK 2 at 2026-07-28'],
  ['sdk-server.mjs', 'of the SDK 2 that finds 2026-07-28'],
  ['sdk-1-server.mjs', 'of the SDK 1'],
  ['sdk-1-server.mjs', 'of the SDK 2 by initialize'],
  ['sdk-1-server.mjs', 'of the SDK 2 that finds 2025-11-25'],
])('%s serves a client %s', async (script, name) => {
  const client = await connections[name](open(`tests/peers/stdio/${script}`).client())
  expect(client.serverName()).toBe(script === 'sdk-server.mjs' ? 'sdk-2' : 'sdk-1')
  expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(['add', 'sure'])
  const progress: number[] = []
  const call = { name: 'add', arguments: { a: 1, b: 2 } }
  expect(await client.callTool(call, (sum) => progress.push(sum))).toMatchObject({
    structuredContent: { sum: 3 },
  })
  expect(progress).toEqual([3])
  expect(await client.readResource('test://one')).toMatchObject({ contents: [{ text: 'one' }] })
  // The server itself says that it has no such tool: by a result or an error.
  const unknown = client.callTool({ name: 'none', arguments: {} }).catch(String)
  expect(JSON.stringify(await unknown)).toContain('Tool none not found')
  expect(JSON.stringify(await client.callTool({ name: 'sure', arguments: {} }))).toContain('accept')
})

it('a client of the SDK 2 that speaks 2026-07-28 only learns which versions a command of 2025-11-25 has', async () => {
  const refused = connect2026(open('tests/peers/stdio/sdk-1-server.mjs').client(), '2026-07-28')
  await expect(refused).rejects.toMatchObject({ supported: expect.arrayContaining(['2025-11-25']) })
})

// Where client and server speak different revisions, and where they speak the same.
it.each<[script: string, client: keyof typeof connections]>([
  ['sdk-server.mjs', 'of the SDK 1'],
  ['sdk-1-server.mjs', 'of the SDK 2 that finds 2025-11-25'],
  ['sdk-server.mjs', 'of the SDK 2 that finds 2026-07-28'],
])(
  '%s serves two clients %s in turn, and as many as one user may have, together',
  async (script, name) => {
    const fixture = open(`tests/peers/stdio/${script}`)
    const connect = connections[name]
    const two = [await connect(fixture.client()), await connect(fixture.client())]
    for (const client of [...two, ...two])
      expect(JSON.stringify(await client.callTool({ name: 'sure', arguments: {} }))).toContain('accept')
    const other = fixture.client(callerOf('bob'))
    const all = await Promise.all(Array.from({ length: maxPerUser }, () => connect(other)))
    const answers = await Promise.all(
      all.map((client) => client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })),
    )
    expect(answers).toMatchObject(all.map(() => ({ structuredContent: { sum: 3 } })))
  },
  60_000,
)

it.each([
  ['of the SDK 1', connectEarlier] as const,
  ['of the SDK 2, automatic', (client: CommandClient) => connect2026(client, '2025-11-25', 'auto')] as const,
])(
  'server-everything, which speaks 2025 revisions, asks a client %s all that it can answer',
  async (_, connect) => {
    const client = await connect(
      open('node_modules/@modelcontextprotocol/server-everything/dist/index.js').client(),
    )
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(
      expect.arrayContaining(['trigger-elicitation-request', 'trigger-sampling-request', 'get-roots-list']),
    )
    expect(names).toHaveLength(15)
    const textOf = async (name: string, args: object): Promise<string> =>
      JSON.stringify(await client.callTool({ name, arguments: args }))
    expect(await textOf('trigger-elicitation-request', {})).toContain('provided the requested information')
    const sampling = { prompt: 'Say it.', maxTokens: 10 }
    expect(await textOf('trigger-sampling-request', sampling)).toContain('what the model says')
  },
)
