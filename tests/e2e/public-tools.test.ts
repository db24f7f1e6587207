import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startEverythingServer } from '../peers/everything-server.ts'
import type { ServingProcess } from '../peers/serving-process.ts'
import { bridgeLauncher } from '../support/bridge/process/bridge-child.ts'
import { type BridgeHome, createBridgeHome } from './bridge-process.ts'
import { startGateway } from './gateway-server.ts'
import { createPerson } from './person.ts'
import { type SdkClient, sdkClientNames, sdkClients } from './sdk-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

/** Signs a new user in where the client sends the browser. Returns the user. */
async function signIn(server: ServerProcess, client: SdkClient): Promise<string> {
  const person = await createPerson(server)
  await client.signIn(person)
  return person.email
}

const say = async ({ call }: SdkClient, ...names: string[]): Promise<string[]> =>
  Promise.all(names.map(async (name) => (await call(name)).text))

describe('a module with a public tool', { timeout: 60_000 }, () => {
  let server: ServerProcess

  beforeAll(async () => {
    server = await startServer({ TOOLS: fileURLToPath(new URL('public-tools.ts', import.meta.url)) })
  })
  afterAll(() => server?.close())

  it.each(sdkClientNames)('%s: calls it without signing in, and signs in for another', async (name) => {
    const client = sdkClients[name](server)
    await client.connect()
    expect(await client.listTools()).toEqual(['search', 'who', 'cancel_order'])
    expect(await say(client, 'search')).toEqual(['Found for anybody.'])
    expect(client.provider.authorizationUrls).toEqual([])

    await expect(client.call('cancel_order')).rejects.toThrow(/unauthorized/i)
    const asked = client.provider.authorizationUrls.at(-1)?.searchParams.get('scope')?.split(' ')
    expect(asked).toEqual(expect.arrayContaining(['mcp', 'orders:write']))
    const email = await signIn(server, client)
    expect(await say(client, 'cancel_order', 'who', 'search')).toEqual([
      'Cancelled.',
      email,
      `Found for ${email}.`,
    ])
    expect(client.provider.authorizationUrls).toHaveLength(1)
    await client.end()
  })

  it.each(sdkClientNames)(
    '%s: signs in as it connects to /mcp?sign-in, for the same resource',
    async (name) => {
      const client = sdkClients[name](server, { url: `${server.mcpUrl}?sign-in` })
      await expect(client.connect()).rejects.toThrow(/unauthorized/i)
      expect(client.provider.authorizationUrls.at(-1)?.searchParams.get('resource')).toBe(server.mcpUrl)
      const email = await signIn(server, client)
      await client.connect()
      expect(await client.listTools()).toEqual(['search', 'who', 'cancel_order'])
      expect(await say(client, 'who', 'search')).toEqual([email, `Found for ${email}.`])
      await client.end()
    },
  )

  describe('behind the bridge', () => {
    let home: BridgeHome
    let said = ''

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

    const hear = (stderr: NodeJS.EventEmitter | null): unknown =>
      stderr?.on('data', (chunk) => (said += String(chunk)))

    async function connect(): Promise<{ client: Client; call(name: string): Promise<string> }> {
      const [client, transport] = [
        new Client({ name: 'lazy', version: '1' }),
        new StdioClientTransport(command()),
      ]
      hear(transport.stderr)
      await client.connect(transport)
      const call = async (name: string): Promise<string> => {
        const { content } = await client.callTool({ name, arguments: {} })
        return (content as { text: string }[]).map(({ text }) => text).join('')
      }
      return { client, call }
    }

    async function allow(): Promise<string> {
      const person = await createPerson(server)
      const link = (): string | undefined => /Sign in here: (\S+)\s/.exec(said)?.[1]
      await until(link, 'the link')
      expect((await fetch(await person.allow(link() ?? ''))).status).toBe(200)
      return person.email
    }

    it('a call of another tool waits for the person, and is answered by the server', async () => {
      const { client, call } = await connect()
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
      const { client, call } = await connect()
      expect(await call('who')).toBe(email)
      await client.close()
    })
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

  it.each(sdkClientNames)('%s: goes on in its session after the sign-in', async (name) => {
    const client = sdkClients[name](server)
    await client.connect()
    expect(await client.listTools()).toEqual(expect.arrayContaining(['echo', 'get-sum']))
    expect((await client.call('echo', { message: 'hello' })).text).toContain('hello')
    expect(client.provider.authorizationUrls).toEqual([])
    await expect(client.call('get-sum', { a: 2, b: 3 })).rejects.toThrow(/unauthorized/i)
    await signIn(server, client)
    expect((await client.call('get-sum', { a: 2, b: 3 })).text).toContain('5')
    await client.end()
  })
})
