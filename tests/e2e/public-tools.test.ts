import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startEverythingServer } from '../peers/everything-server.ts'
import type { ServingProcess } from '../peers/serving-process.ts'
import { bridgeLauncher } from '../support/bridge/process/bridge-child.ts'
import { type BridgeHome, createBridgeHome } from './bridge-process.ts'
import { startGateway } from './gateway-server.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson } from './person.ts'
import { type ServerProcess, startServer } from './server-process.ts'

/** A client that signs in only when it must. */
interface LazyClient {
  provider: MemoryOAuthProvider
  connect(): Promise<void>
  listTools(): Promise<string[]>
  call(name: string, input?: Record<string, unknown>): Promise<string>
  /** Processes the parameters of the callback after the sign-in. */
  finish(callback: URLSearchParams): Promise<void>
  close(): Promise<void>
}

const textOf = (result: Record<string, unknown>): string =>
  (result['content'] as { text?: string }[]).map(({ text = '' }) => text).join('')

function create1({ fetch }: ServerProcess, url: string): LazyClient {
  const provider = new MemoryOAuthProvider()
  const client = new Client1({ name: 'lazy', version: '1' })
  let transport: Transport1
  return {
    provider,
    async connect() {
      transport = new Transport1(new URL(url), { fetch, authProvider: provider })
      await client.connect(transport)
    },
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input = {}) => textOf(await client.callTool({ name, arguments: input })),
    finish: (callback) => transport.finishAuth(callback.get('code') ?? ''),
    close: () => client.close(),
  }
}

function create2({ fetch }: ServerProcess, url: string, mode: 'legacy' | 'auto'): LazyClient {
  const provider = new MemoryOAuthProvider()
  const client = new Client2({ name: 'lazy', version: '2' }, { versionNegotiation: { mode } })
  let transport: Transport2
  return {
    provider,
    async connect() {
      transport = new Transport2(new URL(url), { fetch, authProvider: provider })
      await client.connect(transport)
    },
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input = {}) => textOf(await client.callTool({ name, arguments: input })),
    finish: (callback) => transport.finishAuth(callback),
    close: () => client.close(),
  }
}

const clients: [string, (server: ServerProcess, url: string) => LazyClient][] = [
  ['sdk 1, 2025-11-25', create1],
  ['client 2, 2025-11-25', (server, url) => create2(server, url, 'legacy')],
  ['client 2, 2026-07-28 if it can', (server, url) => create2(server, url, 'auto')],
]

/** Signs a new user in where the client sends the browser. Returns the user. */
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

  it.each(clients)('%s: calls it without signing in, and signs in for another', async (_name, create) => {
    const client = create(server, server.mcpUrl)
    await client.connect()
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

  it.each(clients)(
    '%s: signs in as it connects to /mcp?sign-in, for the same resource',
    async (_name, create) => {
      const client = create(server, `${server.mcpUrl}?sign-in`)
      await expect(client.connect()).rejects.toThrow(/unauthorized/i)
      expect(client.provider.authorizationUrls.at(-1)?.searchParams.get('resource')).toBe(server.mcpUrl)
      const email = await signIn(server, client)
      await client.connect()
      expect(await client.listTools()).toEqual(['search', 'who', 'cancel_order'])
      expect([await client.call('who'), await client.call('search')]).toEqual([email, `Found for ${email}.`])
      await client.close()
    },
  )
})

describe('the bridge in front of a module with a public tool', { timeout: 60_000 }, () => {
  let server: ServerProcess
  let home: BridgeHome
  let said = ''

  beforeAll(async () => {
    server = await startServer({ TOOLS: fileURLToPath(new URL('public-tools.ts', import.meta.url)) })
  })
  afterAll(() => server?.close())
  beforeEach(() => {
    home = createBridgeHome()
    said = ''
  })
  afterEach(() => home.remove())

  /** Builds a command that pretends to open a browser: the test opens the link instead. */
  function command(...words: string[]) {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home.path, BROWSER: 'true' }
    const args = [bridgeLauncher, ...words, server.mcpUrl, '--store', 'file']
    return { command: process.execPath, args, env, stderr: 'pipe' as const }
  }

  const hear = (stderr: { on(event: 'data', listener: (chunk: unknown) => void): unknown } | null): unknown =>
    stderr?.on('data', (chunk) => (said += String(chunk)))

  async function connect(): Promise<Client1> {
    const [client, transport] = [new Client1({ name: 'lazy', version: '1' }), new Stdio1(command())]
    hear(transport.stderr)
    await client.connect(transport)
    return client
  }

  async function allow(): Promise<string> {
    const person = await createPerson(server)
    const link = await expect
      .poll(() => /Sign in here: (\S+)\s/.exec(said)?.[1], { timeout: 20_000 })
      .toBeDefined()
      .then(() => /Sign in here: (\S+)\s/.exec(said)?.[1] ?? '')
    expect((await fetch(await person.allow(link))).status).toBe(200)
    return person.email
  }

  it('a call of another tool waits for the person, and is answered by the server', async () => {
    const client = await connect()
    const call = async (name: string) => textOf(await client.callTool({ name, arguments: {} }))
    expect(await call('search')).toBe('Found for anybody.')
    expect(said).not.toContain('Sign in here')
    const called = call('who')
    const email = await allow()
    expect(await called).toBe(email)
    expect(await call('search')).toBe(`Found for ${email}.`)
    await client.close()
  })

  it('signs in with `login`, and a client that comes later is signed in', async () => {
    const { command: program, args, env } = command('login')
    const login = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    hear(login.stderr)
    const ended = once(login, 'exit')
    const email = await allow()
    expect(await ended).toEqual([0, null])
    expect(said).toContain('Signed in to')
    const client = await connect()
    expect(textOf(await client.callTool({ name: 'who', arguments: {} }))).toBe(email)
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

  it.each(clients)('%s: goes on in its session after the sign-in', async (_name, create) => {
    const client = create(server, server.mcpUrl)
    await client.connect()
    expect(await client.listTools()).toEqual(expect.arrayContaining(['echo', 'get-sum']))
    expect(await client.call('echo', { message: 'hello' })).toContain('hello')
    expect(client.provider.authorizationUrls).toEqual([])
    await expect(client.call('get-sum', { a: 2, b: 3 })).rejects.toThrow(/unauthorized/i)
    await signIn(server, client)
    expect(await client.call('get-sum', { a: 2, b: 3 })).toContain('5')
    await client.close()
  })
})
