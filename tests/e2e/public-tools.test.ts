import { fileURLToPath } from 'node:url'
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEverythingServer } from '../peers/everything-server.ts'
import type { ServingProcess } from '../peers/serving-process.ts'
import { startGateway } from './gateway-server.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson } from './person.ts'
import { type ServerProcess, startServer } from './server-process.ts'

/** A connected client that signs in only when it must. */
interface LazyClient {
  provider: MemoryOAuthProvider
  listTools(): Promise<string[]>
  call(name: string, input?: Record<string, unknown>): Promise<string>
  /** Takes what the person brought back from signing in. */
  finish(callback: URLSearchParams): Promise<void>
  close(): Promise<void>
}

const textOf = (result: Record<string, unknown>): string =>
  (result['content'] as { text?: string }[]).map(({ text = '' }) => text).join('')

async function connect1({ mcpUrl, fetch }: ServerProcess): Promise<LazyClient> {
  const provider = new MemoryOAuthProvider()
  const transport = new Transport1(new URL(mcpUrl), { fetch, authProvider: provider })
  const client = new Client1({ name: 'lazy', version: '1' })
  await client.connect(transport)
  return {
    provider,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input = {}) => textOf(await client.callTool({ name, arguments: input })),
    finish: (callback) => transport.finishAuth(callback.get('code') ?? ''),
    close: () => client.close(),
  }
}

async function connect2({ mcpUrl, fetch }: ServerProcess, mode: 'legacy' | 'auto'): Promise<LazyClient> {
  const provider = new MemoryOAuthProvider()
  const transport = new Transport2(new URL(mcpUrl), { fetch, authProvider: provider })
  const client = new Client2({ name: 'lazy', version: '2' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  return {
    provider,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input = {}) => textOf(await client.callTool({ name, arguments: input })),
    finish: (callback) => transport.finishAuth(callback),
    close: () => client.close(),
  }
}

const clients: [string, (server: ServerProcess) => Promise<LazyClient>][] = [
  ['sdk 1, 2025-11-25', connect1],
  ['client 2, 2025-11-25', (server) => connect2(server, 'legacy')],
  ['client 2, 2026-07-28 if it can', (server) => connect2(server, 'auto')],
]

/** Signs a new person in where the client wants it. Answers who it is. */
async function signIn(server: ServerProcess, { provider, finish }: LazyClient): Promise<string> {
  const person = await createPerson(server)
  const url = provider.authorizationUrls.at(-1)
  if (!url) throw new Error('The client asked for no sign-in.')
  await finish((await person.allow(url)).searchParams)
  return person.email
}

describe('a module with a public tool', () => {
  let server: ServerProcess

  beforeAll(async () => {
    server = await startServer({ TOOLS: fileURLToPath(new URL('public-tools.ts', import.meta.url)) })
  })
  afterAll(() => server?.close())

  it.each(clients)('%s: calls it without signing in, and signs in for another', async (_name, connect) => {
    const client = await connect(server)
    expect(await client.listTools()).toEqual(['search', 'who', 'cancel_order'])
    expect(await client.call('search')).toBe('Found for anybody.')
    expect(client.provider.authorizationUrls).toEqual([])

    await expect(client.call('cancel_order')).rejects.toThrow(/unauthorized/i)
    const asked = client.provider.authorizationUrls.at(-1)?.searchParams.get('scope')?.split(' ')
    expect(asked).toEqual(expect.arrayContaining(['mcp', 'orders:write']))
    const email = await signIn(server, client)
    expect(await client.call('cancel_order')).toBe('Cancelled.')
    expect([await client.call('who'), await client.call('search')]).toEqual([email, `Found for ${email}.`])
    expect(client.provider.authorizationUrls).toHaveLength(1)
    await client.close()
  })
})

describe('server-everything behind the door, one of its tools public', () => {
  let upstream: ServingProcess
  let server: ServerProcess

  beforeAll(async () => {
    upstream = await startEverythingServer()
    server = await startGateway({ url: upstream.url, tools: { public: ['echo'] } })
  })
  afterAll(async () => {
    await server?.close()
    await upstream?.close()
  })

  it.each(clients)('%s: goes on in its session after the sign-in', async (_name, connect) => {
    const client = await connect(server)
    expect(await client.listTools()).toEqual(expect.arrayContaining(['echo', 'get-sum']))
    expect(await client.call('echo', { message: 'hello' })).toContain('hello')
    expect(client.provider.authorizationUrls).toEqual([])
    await expect(client.call('get-sum', { a: 2, b: 3 })).rejects.toThrow(/unauthorized/i)
    await signIn(server, client)
    expect(await client.call('get-sum', { a: 2, b: 3 })).toContain('5')
    await client.close()
  })
})
