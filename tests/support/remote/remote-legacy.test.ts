import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startRemote } from './remote.ts'
import type { Remote } from './remote.ts'

let remote: Remote
let clients: Client[]
beforeEach(async () => {
  remote = await startRemote({ transport: 'both' })
  clients = []
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await remote.close()
})

async function connect(transport: 'http' | 'sse' = 'http'): Promise<Client> {
  const client = new Client(
    { name: 'client', version: '1.0.0' },
    { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } },
  )
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ada' } }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    model: 'none',
    content: { type: 'text', text: 'hi' },
  }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///here' }] }))
  const made =
    transport === 'http'
      ? new StreamableHTTPClientTransport(new URL(remote.url), {
          reconnectionOptions: {
            initialReconnectionDelay: 10,
            maxReconnectionDelay: 10,
            reconnectionDelayGrowFactor: 1,
            maxRetries: 5,
          },
        })
      : new SSEClientTransport(new URL(remote.sseUrl))
  await client.connect(made)
  clients.push(client)
  return client
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const result = await client.callTool({ name, arguments: args })
  return (result.content as { text: string }[]).map(({ text }) => text).join('')
}

describe.each(['http', 'sse'] as const)('the client of SDK v1 over %s', (transport) => {
  it('lists and calls tools', async () => {
    const client = await connect(transport)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'slow', 'big', 'progress']))
    expect(await call(client, 'echo', { text: 'hé' })).toBe('hé')
    expect((await call(client, 'big', { bytes: 300_000 })).length).toBe(300_000)
    expect(await call(client, 'count', { key: 'k' })).toBe('1')
    expect(await call(client, 'count', { key: 'k' })).toBe('2')
    expect(remote.counters.calls).toMatchObject({ k: 2, echo: 1 })
    expect(remote.counters.sessionsOpened).toBe(1)
  })

  it('gets both kinds of failure', async () => {
    const client = await connect(transport)
    expect((await client.callTool({ name: 'fail' })).isError).toBe(true)
    await expect(client.callTool({ name: 'fail', arguments: { kind: 'error' } })).rejects.toThrow(
      'failed as asked',
    )
  })

  it('gets progress and log lines of its calls', async () => {
    const client = await connect(transport)
    const lines: unknown[] = []
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void lines.push(params.data),
    )
    const seen: number[] = []
    await client.callTool({ name: 'progress', arguments: { n: 4, ms: 5 } }, undefined, {
      onprogress: ({ progress }) => void seen.push(progress),
    })
    expect(seen).toEqual([1, 2, 3, 4])
    await client.setLoggingLevel('debug')
    expect(remote.logLevel()).toBe('debug')
    await call(client, 'log')
    expect(lines).toEqual(['a line'])
  })

  it('is asked by tools, and by the server itself', async () => {
    const client = await connect(transport)
    expect(JSON.parse(await call(client, 'elicit'))).toEqual({ action: 'accept', content: { name: 'Ada' } })
    expect(JSON.parse(await call(client, 'sample'))).toMatchObject({ content: { text: 'hi' } })
    expect(JSON.parse(await call(client, 'roots'))).toEqual({ roots: [{ uri: 'file:///here' }] })
    await vi.waitFor(() => expect(remote.counters.streamsOpen).toBe(1))
    expect(await remote.ask('roots/list')).toEqual({ roots: [{ uri: 'file:///here' }] })
  })

  it('is told of changes it wants to know about', async () => {
    const client = await connect(transport)
    const seen: string[] = []
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void seen.push('tools'))
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void seen.push(params.uri),
    )
    await client.subscribeResource({ uri: 'note://one' })
    expect(remote.subscriptions()).toEqual(['note://one'])
    await call(client, 'touch', { uri: 'note://two' })
    await call(client, 'touch', { uri: 'note://one' })
    await call(client, 'change')
    await vi.waitFor(() => expect(seen).toEqual(['note://one', 'tools']))
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('extra_1')
  })

  it('cancels a call', async () => {
    const client = await connect(transport)
    const cancel = new AbortController()
    const slow = client.callTool({ name: 'slow', arguments: { ms: 60_000 } }, undefined, {
      signal: cancel.signal,
    })
    await vi.waitFor(() => expect(remote.counters.calls['slow']).toBe(1))
    cancel.abort()
    await expect(slow).rejects.toThrow()
    await vi.waitFor(() => expect(remote.counters.cancelled).toHaveLength(1))
  })
})

describe('sessions and streams', () => {
  it('counts, loses and ends sessions', async () => {
    const client = await connect()
    expect(remote.counters).toMatchObject({ sessionsOpened: 1, sessionsOpen: 1 })
    remote.dropSessions()
    await expect(call(client, 'echo')).rejects.toThrow('Session not found')
    const other = await connect()
    await (other.transport as StreamableHTTPClientTransport).terminateSession()
    expect(remote.counters).toMatchObject({ sessionsOpened: 2, sessionsOpen: 0, deletes: 1 })
  })

  it('keeps what happens while a stream is cut, for the resume', async () => {
    const client = await connect()
    const seen: string[] = []
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void seen.push('tools'))
    await vi.waitFor(() => expect(remote.counters.streamsOpen).toBe(1))
    remote.changeTools()
    await vi.waitFor(() => expect(seen).toHaveLength(1))
    remote.dropStreams()
    remote.changeTools()
    await vi.waitFor(() => expect(seen).toHaveLength(2))
    expect(remote.counters.lastEventIds).toHaveLength(1)
    expect(remote.counters.streamsOpened).toBe(2)
  })

  it.each(['sse', 'polled'] as const)('answers as %s', async (reply) => {
    remote.set({ reply, sseRetryMs: 10 })
    const client = await connect()
    expect(await call(client, 'echo', { text: reply })).toBe(reply)
    expect(remote.counters.lastEventIds.length > 0).toBe(reply === 'polled')
  })

  it('serves without sessions too', async () => {
    remote.set({ sessions: false, getStream: false })
    const client = await connect()
    expect(await call(client, 'echo', { text: 'a' })).toBe('a')
    expect(remote.counters).toMatchObject({ sessionsOpened: 0, streamsOpened: 0 })
  })

  it('wants its cookie back', async () => {
    remote.set({ cookies: true })
    await expect(connect()).rejects.toThrow('another replica')
  })
})
