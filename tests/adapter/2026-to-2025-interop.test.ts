import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type {
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcRequest,
  JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdapterFrom2026To2025 } from '@drawbridge/shared/mcp/adapter/2026-to-2025/adapter.ts'
import { describeFailure, until } from '../support/adapter/fakes.ts'
import { createSystemRuntime } from '../support/adapter/runtime.ts'
import type { RequestOptions, Server2025 } from '@drawbridge/shared/mcp/adapter/ports.ts'

/** The v2 SDK as the client, the v1 SDK as the server, with a stream for each request and a GET stream. */

const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })
const form = { type: 'object' as const, properties: { name: { type: 'string' as const } } }
const ask = { message: 'Name?', requestedSchema: form }

interface Far extends Server2025 {
  servers: Server[]
  cancelled: string[]
  subscribed: Set<string>
  levels: string[]
  calls: string[]
  pings: number
}

function createFar(): Far {
  const far: Far = {
    servers: [],
    cancelled: [],
    subscribed: new Set(),
    levels: [],
    calls: [],
    pings: 0,
    errorResponse: () => undefined,
    async open(params, onMessage) {
      const waiting = new Map<
        JsonRpcId,
        { settle(response: JsonRpcResponse): void; options: RequestOptions }
      >()
      const transport: Transport = {
        async start() {},
        async close() {},
        async send(sent, options) {
          const message = sent as JsonRpcMessage
          if (!('method' in message)) waiting.get(message.id!)?.settle(message)
          else if (options?.relatedRequestId === undefined) await onMessage(message)
          else await waiting.get(options.relatedRequestId)?.options.onMessage?.(message)
        },
      }
      const server = createServer(far)
      await server.connect(transport)
      far.servers.push(server)
      const receive = (message: JsonRpcMessage) => transport.onmessage!(message as JSONRPCMessage)
      const request = (message: JsonRpcRequest, options: RequestOptions = {}) =>
        new Promise<JsonRpcResponse>((resolve, reject) => {
          waiting.set(message.id, { settle: resolve, options })
          options.signal?.addEventListener('abort', () => reject(options.signal!.reason as Error))
          receive(message)
        })
      const response = await request({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
      if ('error' in response) throw new Error(response.error.message)
      receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return {
        initialized: response.result as JsonObject,
        request,
        notify: async (message) => receive(message),
        answer: async (message) => receive(message),
        close: () => server.close(),
      }
    },
  }
  return far
}

function createServer(far: Far): Server {
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
  let opened = false
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      {
        name: 'ask',
        inputSchema: { type: 'object' as const },
        execution: { taskSupport: 'optional' as const },
      },
    ],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => {
    throw new McpError(-32_002, 'Resource not found', { uri: params.uri })
  })
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    far.subscribed.add(params.uri)
    return {}
  })
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    far.subscribed.delete(params.uri)
    return {}
  })
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    far.levels.push(params.level)
    return {}
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { name } = params
    far.calls.push(name)
    if (name === 'ask') {
      const [form1, roots] = await Promise.all([
        extra.sendRequest({ method: 'elicitation/create', params: ask }, ElicitResultSchema),
        extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema),
      ])
      const thought = await extra.sendRequest(
        { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } },
        CreateMessageResultSchema,
      )
      return text({ form1, roots, thought })
    }
    // As most servers of that time do: on the GET stream.
    if (name === 'stray') return text(await server.elicitInput(ask))
    if (name === 'many')
      return text(
        (
          await Promise.all(
            Array.from({ length: 15 }, () =>
              extra.sendRequest({ method: 'elicitation/create', params: ask }, ElicitResultSchema),
            ),
          )
        ).length,
      )
    if (name === 'link') {
      if (opened) return text('opened')
      opened = true
      throw new UrlElicitationRequiredError([
        { mode: 'url', elicitationId: 'e', url: 'https://x.example/', message: 'Go' },
      ])
    }
    if (name === 'progress') {
      const progressToken = extra._meta!.progressToken!
      for (const progress of [1, 2, 3])
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress },
        })
    }
    if (name === 'log')
      for (const level of ['info', 'error'] as const)
        await extra.sendNotification({ method: 'notifications/message', params: { level, data: 'x' } })
    if (name === 'hang')
      await new Promise((resolve) => {
        extra.signal.addEventListener('abort', () => {
          far.cancelled.push(String(extra.signal.reason))
          resolve(undefined)
        })
      })
    return text(name)
  })
  return server
}

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()))
})

const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

async function connect(capabilities: JsonObject = everything) {
  const far = createFar()
  const [near, own] = InMemoryTransport.createLinkedPair()
  const sent: JsonRpcMessage[] = []
  const adapter = createAdapterFrom2026To2025({
    client: {
      async send(message) {
        sent.push(message)
        await own.send(message as JSONRPCMessage)
      },
    },
    server: far,
    describeFailure,
    runtime: createSystemRuntime(),
    warn: () => {},
  })
  Object.assign(own, { onmessage: (message: JsonRpcMessage) => void adapter.receive(message) })
  await own.start()
  const client = new Client(
    { name: 'near', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const errors: Error[] = []
  Object.assign(client, { onerror: (error: Error) => errors.push(error) })
  const asked: string[] = []
  if (capabilities['elicitation'] !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      asked.push(params.mode === 'url' ? params.url : params.message)
      return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } }
    })
  if (capabilities['sampling'] !== undefined)
    client.setRequestHandler('sampling/createMessage', () => ({
      model: 'm',
      role: 'assistant' as const,
      content: { type: 'text' as const, text: 'hm' },
    }))
  if (capabilities['roots'] !== undefined)
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///a' }] }))
  open.push(
    () => adapter.close(),
    () => client.close(),
  )
  await client.connect(near)
  return { far, client, adapter, sent, errors, asked }
}

const told = (result: unknown) =>
  JSON.parse((result as { content: { text: string }[] }).content[0]!.text) as unknown

describe('a client of the v2 SDK and a server of the v1 SDK', () => {
  it('get to know each other', async () => {
    const { client, errors, far } = await connect()
    expect(client.getProtocolEra()).toBe('modern')
    expect(client.getServerVersion()).toEqual({ name: 'far', version: '1' })
    expect(client.getInstructions()).toBe('Be kind.')
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true }, logging: {} })
    const { tools } = await client.listTools()
    expect(tools).toEqual([{ name: 'ask', inputSchema: { type: 'object' } }])
    expect(far.servers[0]!.getClientCapabilities()).toEqual(everything)
    expect(far.servers[0]!.getClientVersion()).toEqual({ name: 'near', version: '1' })
    expect(errors).toEqual([])
  })

  it('ask and answer, on the stream of the call and on the GET stream', async () => {
    const { client, far, errors, sent } = await connect()
    const accepted = { action: 'accept', content: { name: 'Ada' } }
    expect(told(await client.callTool({ name: 'ask' }))).toEqual({
      form1: accepted,
      roots: { roots: [{ uri: 'file:///a' }] },
      thought: { model: 'm', role: 'assistant', content: { type: 'text', text: 'hm' } },
    })
    expect(told(await client.callTool({ name: 'stray' }))).toEqual(accepted)
    expect(far.calls).toEqual(['ask', 'stray'])
    expect(sent.filter((each) => 'method' in each)).toEqual([])
    expect(errors).toEqual([])
  })

  it('ask fifteen things at once in less than ten rounds', async () => {
    const { client, asked } = await connect()
    expect(told(await client.callTool({ name: 'many' }))).toBe(15)
    expect(asked).toHaveLength(15)
  })

  it('open a URL that the server requires, and call again', async () => {
    const { client, asked, far } = await connect()
    expect(told(await client.callTool({ name: 'link' }))).toBe('opened')
    expect(asked).toEqual(['https://x.example/'])
    expect(far.calls).toEqual(['link', 'link'])
    const bare = await connect({ elicitation: { form: {} } })
    await expect(bare.client.callTool({ name: 'link' })).rejects.toMatchObject({ code: -32_021 })
  })

  it('report progress', async () => {
    const { client, errors } = await connect()
    const seen: number[] = []
    await client.callTool({ name: 'progress' }, { onprogress: ({ progress }) => seen.push(progress) })
    expect(seen).toEqual([1, 2, 3])
    expect(errors).toEqual([])
  })

  it('cancel', async () => {
    const { client, far, sent } = await connect()
    const controller = new AbortController()
    const call = client.callTool({ name: 'hang' }, { signal: controller.signal })
    await until(() => far.calls.length === 1, 'the call')
    const before = sent.length
    controller.abort('enough')
    await expect(call).rejects.toThrow('enough')
    await until(() => far.cancelled.length === 1, 'the server to notice')
    expect(far.cancelled[0]).toContain('enough')
    expect(sent).toHaveLength(before)
  })

  it('log if the request asks for it', async () => {
    const { client, far } = await connect()
    const seen: string[] = []
    client.setNotificationHandler('notifications/message', ({ params }) => void seen.push(params.level))
    await client.callTool({ name: 'log' })
    await client.callTool({
      name: 'log',
      _meta: { 'io.modelcontextprotocol/logLevel': 'warning' },
    })
    expect(seen).toEqual(['error'])
    expect(far.levels).toEqual(['warning'])
  })

  it('tell about changes', async () => {
    const { client, far, sent } = await connect()
    const uris: string[] = []
    let lists = 0
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void uris.push(params.uri),
    )
    client.setNotificationHandler('notifications/tools/list_changed', () => void (lists += 1))
    const subscription = await client.listen({
      toolsListChanged: true,
      resourceSubscriptions: ['x:1', 'x:2'],
    })
    expect(subscription.honoredFilter).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['x:1', 'x:2'],
    })
    expect([...far.subscribed]).toEqual(['x:1', 'x:2'])
    const [server] = far.servers
    await server!.sendResourceUpdated({ uri: 'x:2' })
    await server!.sendResourceListChanged()
    await server!.sendToolListChanged()
    await until(() => uris.length === 1 && lists === 1, 'the notices')
    await subscription.close()
    await until(() => far.subscribed.size === 0, 'to unsubscribe')
    const before = sent.length
    await server!.sendToolListChanged()
    expect(sent).toHaveLength(before)
  })

  it('answer pings of the server, and speak of errors in the words of the client', async () => {
    const { client, far } = await connect()
    await far.servers[0]!.ping()
    await expect(far.servers[0]!.listRoots()).rejects.toMatchObject({ code: -32_601 })
    await expect(client.readResource({ uri: 'x:none' })).rejects.toMatchObject({ code: -32_602 })
  })
})
