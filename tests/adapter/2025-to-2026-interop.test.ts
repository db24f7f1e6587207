import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage, JsonRpcResponse } from '@drawbridge/shared/mcp/json-rpc.ts'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server'
import { afterEach, describe, expect, it } from 'vitest'
import { StatelessTransport } from '../../bridge/transport/stateless-transport.ts'
import { createAdapterFrom2025To2026 } from '@drawbridge/shared/mcp/adapter/2025-to-2026/adapter.ts'
import type { HttpClient } from '../../bridge/http/http-client.ts'
import { describeFailure, until } from '../support/adapter/fakes.ts'
import { createSystemRuntime } from '../support/adapter/runtime.ts'
import { createServer2026 } from '../../bridge/proxy/adapted-server.ts'
import type { Server2026 } from '@drawbridge/shared/mcp/adapter/ports.ts'

/** The v1 SDK as the client, the v2 SDK as the server; the transport is HTTP without a socket. */

const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })
const form = { type: 'object' as const, properties: { name: { type: 'string' as const } } }

interface Far {
  handler: ReturnType<typeof createMcpHandler>
  cancelled: string[]
  calls: { name: string; state: unknown; responses: unknown }[]
}

function createFar(): Far {
  const cancelled: string[] = []
  const calls: Far['calls'] = []
  const handler = createMcpHandler(
    () => {
      const server = new Server(
        { name: 'far', version: '1' },
        {
          instructions: 'Be kind.',
          capabilities: {
            tools: { listChanged: true },
            resources: { subscribe: true, listChanged: true },
            logging: {},
          },
        },
      )
      server.setRequestHandler('tools/list', () => ({
        tools: [
          {
            name: 'region',
            inputSchema: {
              type: 'object' as const,
              properties: { r: { type: 'string', 'x-mcp-header': 'R' } },
            },
          },
          { name: 'offends', inputSchema: { type: 'object' as const, 'x-mcp-header': 'R' } },
          { name: 'list', inputSchema: { type: 'object' as const }, outputSchema: { type: 'array' } },
        ],
      }))
      server.setRequestHandler('resources/read', (request) => {
        throw Object.assign(new Error(`nothing at ${request.params.uri}`), { code: -32_602 })
      })
      server.setRequestHandler('tools/call', async (request, ctx) => {
        const { name } = request.params
        const responses = ctx.mcpReq.inputResponses as Record<string, JsonObject> | undefined
        const state = ctx.mcpReq.requestState()
        calls.push({ name, state, responses })
        if (name === 'ask' && responses === undefined)
          return inputRequired({
            inputRequests: {
              name: inputRequired.elicit({ message: 'Name?', requestedSchema: form }),
              link: inputRequired.elicitUrl({ message: 'Go', url: 'https://x.example/' }),
              think: inputRequired.createMessage({ messages: [], maxTokens: 5 }),
              roots: inputRequired.listRoots(),
            },
            requestState: 'one',
          })
        if (name === 'ask' && state === 'one')
          return inputRequired({
            inputRequests: { again: inputRequired.elicit({ message: 'Sure?', requestedSchema: form }) },
            requestState: `two ${JSON.stringify(responses)}`,
          })
        if (name === 'ask') return text({ state, responses })
        if (name === 'progress') {
          for (const progress of [1, 2, 3])
            await ctx.mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken: ctx.mcpReq._meta!.progressToken!, progress, total: 3 },
            })
        }
        if (name === 'log') await ctx.mcpReq.log('warning', 'careful')
        if (name === 'hang')
          await new Promise((resolve) => {
            ctx.mcpReq.signal.addEventListener('abort', () => {
              cancelled.push(name)
              resolve(undefined)
            })
          })
        return text({ name })
      })
      return server
    },
    { legacy: 'reject' },
  )
  return { handler, cancelled, calls }
}

function overHttp({ handler }: Far): Server2026 {
  let lastId = 0
  const http: HttpClient = {
    async send({ url, method, headers, body, signal }) {
      const request = new Request(url, { method, headers, body: body as string, ...(signal && { signal }) })
      const response = await handler.fetch(request)
      const stream = Readable.fromWeb(response.body as ReadableStream)
      return { status: response.status, headers: Object.fromEntries(response.headers), body: stream }
    },
    close() {},
  }
  const transport = new StatelessTransport(
    { serverUrl: 'http://far.example/mcp', headers: {}, retryMs: 0 },
    {
      http,
      runtime: createSystemRuntime(),
      authorization: async () => undefined,
      refused: async () => ({ kind: 'sign_in_needed' }),
      unsolicited: () => {},
      note: () => {},
      knownTools: () => [],
      warn: () => {},
      randomId: () => `own-${(lastId += 1)}`,
    },
  )
  return createServer2026(transport)
}

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()))
})

async function connect(capabilities: ConstructorParameters<typeof Client>[1] = {}) {
  const far = createFar()
  const [near, own] = InMemoryTransport.createLinkedPair()
  const answered: JsonRpcResponse[] = []
  const adapter = createAdapterFrom2025To2026({
    client: {
      async send(message) {
        if (!('method' in message)) answered.push(message)
        await own.send(message as JSONRPCMessage)
      },
    },
    server: overHttp(far),
    describeFailure,
    runtime: createSystemRuntime(),
  })
  Object.assign(own, { onmessage: (message: JsonRpcMessage) => void adapter.receive(message) })
  await own.start()
  const client = new Client({ name: 'near', version: '1' }, capabilities)
  const errors: Error[] = []
  Object.assign(client, { onerror: (error: Error) => errors.push(error) })
  open.push(
    () => adapter.close(),
    () => client.close(),
    () => far.handler.close(),
  )
  return { far, client, adapter, near, answered, errors }
}

const everything = {
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } },
}

describe('a client of the v1 SDK and a server of the v2 SDK', () => {
  it('get to know each other', async () => {
    const { client, near, errors } = await connect()
    await client.connect(near)
    expect(client.getServerVersion()).toEqual({ name: 'far', version: '1' })
    expect(client.getInstructions()).toBe('Be kind.')
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
    })
    await client.ping()
    expect(errors).toEqual([])
  })

  it('list tools, and call one whose parameter goes into a header', async () => {
    const { client, near, far } = await connect()
    await client.connect(near)
    // The first call comes before any list: the server refuses it, the list is fetched, and it is sent again.
    expect(await client.callTool({ name: 'region', arguments: { r: 'größer' } })).toMatchObject(
      text({ name: 'region' }),
    )
    expect(far.calls).toHaveLength(1)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['region', 'list'])
    await client.callTool({ name: 'region', arguments: { r: ' x ' } })
  })

  it('ask and answer over two rounds', async () => {
    const { client, near, far, errors } = await connect(everything)
    const asked: unknown[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.mode === 'url' ? params.elicitationId : params.message)
      return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } }
    })
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'hm' },
    }))
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///a' }] }))
    await client.connect(near)
    const result = await client.callTool({ name: 'ask' })
    const accepted = { action: 'accept', content: { name: 'Ada' } }
    const first = {
      name: accepted,
      link: { action: 'accept' },
      think: { model: 'm', role: 'assistant', content: { type: 'text', text: 'hm' } },
      roots: { roots: [{ uri: 'file:///a' }] },
    }
    const told = JSON.parse((result.content as { text: string }[])[0]!.text) as JsonObject
    expect(told['responses']).toEqual({ again: accepted })
    expect(JSON.parse(String(told['state']).slice(4))).toEqual(first)
    expect(asked).toEqual(['Name?', expect.stringMatching(/^[\w-]{22}$/), 'Sure?'])
    expect(far.calls).toHaveLength(3)
    expect(errors).toEqual([])
  })

  it('fail when the client does not want to answer, or cannot be asked', async () => {
    const { client, near } = await connect(everything)
    client.setRequestHandler(ElicitRequestSchema, () => {
      throw new Error('not today')
    })
    client.setRequestHandler(CreateMessageRequestSchema, () => new Promise(() => {}))
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }))
    await client.connect(near)
    await expect(client.callTool({ name: 'ask' })).rejects.toThrow('not today')
    const bare = await connect()
    await bare.client.connect(bare.near)
    await expect(bare.client.callTool({ name: 'ask' })).rejects.toMatchObject({ code: -32_603 })
  })

  it('report progress', async () => {
    const { client, near, errors } = await connect()
    await client.connect(near)
    const seen: number[] = []
    await client.callTool({ name: 'progress' }, undefined, {
      onprogress: ({ progress }) => seen.push(progress),
    })
    expect(seen).toEqual([1, 2, 3])
    expect(errors).toEqual([])
  })

  it('cancel', async () => {
    const { client, near, far, answered } = await connect()
    await client.connect(near)
    const controller = new AbortController()
    const call = client.callTool({ name: 'hang' }, undefined, { signal: controller.signal })
    await until(() => far.calls.length === 1, 'the call')
    controller.abort('enough')
    await expect(call).rejects.toThrow('enough')
    await until(() => far.cancelled.length === 1, 'the server to notice')
    expect(answered).toHaveLength(1)
  })

  it('log from the level that was set on', async () => {
    const { client, near } = await connect()
    const seen: string[] = []
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void seen.push(params.level),
    )
    await client.connect(near)
    await client.callTool({ name: 'log' })
    await client.setLoggingLevel('info')
    await client.callTool({ name: 'log' })
    await client.setLoggingLevel('error')
    await client.callTool({ name: 'log' })
    expect(seen).toEqual(['warning'])
  })

  it('tell about changes', async () => {
    const { client, near, far } = await connect()
    let lists = 0
    const uris: string[] = []
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (lists += 1))
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void uris.push(params.uri),
    )
    await client.connect(near)
    await client.subscribeResource({ uri: 'x:1' })
    await client.subscribeResource({ uri: 'x:2' })
    far.handler.notify.resourceUpdated('x:1')
    far.handler.notify.resourceUpdated('x:2')
    far.handler.notify.resourceUpdated('x:3')
    far.handler.notify.toolsChanged()
    await until(() => uris.length === 2 && lists === 1, 'the notices')
    await client.unsubscribeResource({ uri: 'x:1' })
    await new Promise((resolve) => setTimeout(resolve, 50))
    far.handler.notify.resourceUpdated('x:1')
    far.handler.notify.resourceUpdated('x:2')
    await until(() => uris.length === 3, 'the last notice')
    expect(uris).toEqual(['x:1', 'x:2', 'x:2'])
  })

  it('speak of errors in the words of the client', async () => {
    const { client, near } = await connect()
    await client.connect(near)
    await expect(client.readResource({ uri: 'x:none' })).rejects.toMatchObject({ code: -32_002 })
    await expect(
      client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }),
    ).rejects.toMatchObject({ code: expect.any(Number) })
  })
})
