import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEverythingServer } from '../peers/everything-server.ts'
import type { ServingProcess } from '../peers/serving-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createBridgeHome, startBridge } from './bridge-process.ts'
import { startGateway } from './gateway-server.ts'
import { createPerson } from './person.ts'
import { type SdkClient, sdkClientNames, sdkClients } from './sdk-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

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

  it.each(sdkClientNames)(
    '%s calls a public tool without signing in, and signs in for another',
    async (name) => {
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
    },
  )

  it.each(sdkClientNames)(
    '%s signs in as it connects to /mcp?sign-in, for the same resource',
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

  it('through the bridge a call of a tool that is not public waits for the user, and is answered by the server', async () => {
    const home = createBridgeHome()
    const bridge = startBridge(server.mcpUrl, home)
    try {
      await bridge.open()
      expect(await bridge.call('search')).toBe('Found for anybody.')
      expect(bridge.links()).toEqual([])
      const called = bridge.call('who')
      const person = await createPerson(server)
      expect((await fetch(await person.allow(await bridge.link()))).status).toBe(200)
      expect(await called).toBe(person.email)
      expect(await bridge.call('search')).toBe(`Found for ${person.email}.`)
    } finally {
      await bridge.close()
      home.remove()
    }
  })
})

describe('access rules beside a public tool', { timeout: 60_000 }, () => {
  let upstream: ServingProcess
  const servers: ServerProcess[] = []

  beforeAll(async () => {
    const ACCESS = join(temporaryFolder(afterAll), 'access.json')
    writeFileSync(ACCESS, JSON.stringify({ rules: [{ allow: { email: ['*@example.com'] } }] }))
    upstream = await startEverythingServer()
    const TOOLS = fileURLToPath(new URL('public-tools.ts', import.meta.url))
    servers.push(await startServer({ TOOLS, ACCESS }))
    servers.push(await startGateway({ url: upstream.url, tools: { public: ['echo'] } }, { ACCESS }))
  })
  afterAll(async () => {
    for (const server of servers) await server.close()
    await upstream?.close()
  })

  const offers: readonly [what: string, index: number, listed: string, hidden: string][] = [
    ['tools of its own', 0, 'search', 'who'],
    ['an upstream with sessions', 1, 'echo', 'get-sum'],
  ]

  it.each(offers.flatMap((offer) => sdkClientNames.map((name) => [...offer, name] as const)))(
    'in front of %s (%i) an anonymous client finds %s and sign_in, whose call lets it in to %s: %s',
    async (_, index, listed, hidden, name) => {
      const server = servers[index] as ServerProcess
      const client = sdkClients[name](server)
      await client.connect()
      expect(await client.listTools()).toEqual([listed, 'sign_in'])
      await expect(client.call('sign_in')).rejects.toThrow(/unauthorized/i)
      await signIn(server, client)
      expect((await client.call('sign_in')).text).toContain('You are signed in')
      const all = await client.listTools()
      expect(all).toEqual(expect.arrayContaining([listed, hidden]))
      expect(all).not.toContain('sign_in')
      await client.end()
    },
  )

  it.each(offers)(
    'in front of %s (%i) the bridge lists %s and sign_in, whose call waits for the user',
    async (_, index, listed, hidden) => {
      const server = servers[index] as ServerProcess
      const home = createBridgeHome()
      const bridge = startBridge(server.mcpUrl, home)
      try {
        await bridge.open()
        expect(await bridge.tools()).toEqual([listed, 'sign_in'])
        const called = bridge.call('sign_in')
        const person = await createPerson(server)
        expect((await fetch(await person.allow(await bridge.link()))).status).toBe(200)
        expect(await called).toContain('You are signed in')
        expect(await bridge.tools()).toEqual(expect.arrayContaining([hidden]))
        expect(await bridge.tools()).not.toContain('sign_in')
      } finally {
        await bridge.close()
        home.remove()
      }
    },
  )
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

  it.each(sdkClientNames)(
    '%s goes on in its session with server-everything after the sign-in',
    async (name) => {
      const client = sdkClients[name](server)
      await client.connect()
      expect(await client.listTools()).toEqual(expect.arrayContaining(['echo', 'get-sum']))
      expect((await client.call('echo', { message: 'hello' })).text).toContain('hello')
      expect(client.provider.authorizationUrls).toEqual([])
      await expect(client.call('get-sum', { a: 2, b: 3 })).rejects.toThrow(/unauthorized/i)
      await signIn(server, client)
      expect((await client.call('get-sum', { a: 2, b: 3 })).text).toContain('5')
      await client.end()
    },
  )
})
