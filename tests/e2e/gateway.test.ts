import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startEverythingServer } from '../peers/everything-server.ts'
import { hasPythonPeers } from '../peers/python/python-peer.ts'
import { type PythonServerOptions, startPythonServer } from '../peers/python/python-server.ts'
import { buildGoServer, startGoServer } from '../support/bridge/process/go-server.ts'
import { freePort } from '../support/server/free-port.ts'
import { type SignedInClient, sdkClients } from './gateway-client.ts'
import { type SignedToken, signToken, startGateway } from './gateway-server.ts'
import { createPerson, type Person } from './person.ts'
import { postMcp } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

interface Upstream {
  url: string
  close(): Promise<void>
}

let upstream: Upstream
let server: ServerProcess
let ada: Person
let eve: Person
const clients: SignedInClient[] = []

/** Starts a server in front of an upstream, which starts once the server's address is known. */
async function open(
  identity: string,
  start: (where: { port: number; issuer: string }) => Promise<Upstream>,
  more: Record<string, unknown> = {},
): Promise<void> {
  const port = await freePort()
  server = await startGateway({ url: `http://127.0.0.1:${port}/mcp`, identity: [identity], ...more })
  upstream = await start({ port, issuer: server.baseUrl })
  ada = await createPerson(server)
  eve = await createPerson(server)
}

async function close(): Promise<void> {
  await server?.close()
  await upstream?.close()
}

afterEach(async () => {
  for (const client of clients.splice(0)) await client.end().catch(() => {})
})

async function connect(name: keyof typeof sdkClients, person: Person): Promise<SignedInClient> {
  const client = await sdkClients[name](server, person)
  clients.push(client)
  return client
}

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'past-the-door', version: '1' },
  },
})

/** Returns the status of a message sent straight to the upstream. */
async function statusPastTheDoor(headers: Record<string, string>): Promise<number> {
  const response = await fetch(upstream.url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: initialize,
  })
  await response.body?.cancel()
  return response.status
}

/** Returns the status of a message through the gateway, in a session of that client. */
async function statusInSession(session: string, { provider }: SignedInClient): Promise<number> {
  const authorization = `Bearer ${provider.tokens()?.access_token}`
  const headers = { authorization, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
  return (await postMcp(server, { method: 'tools/list' }, headers)).status
}

const names = Object.keys(sdkClients) as (keyof typeof sdkClients)[]

/** Tests what applies to every upstream that identifies callers by Drawbridge's assertion. */
function itKnowsCallers(header: (token: string) => Record<string, string>): void {
  it.each(names)('%s: lists, calls as two users, hears of progress, ends its session', async (name) => {
    const ofAda = await connect(name, ada)
    const ofEve = await connect(name, eve)
    expect(await ofAda.listTools()).toEqual(expect.arrayContaining(['whoami', 'count']))
    const said = await Promise.all([ofAda, ofEve, ofAda, ofEve].map((client) => client.call('whoami')))
    expect(said.map(({ text }) => text)).toEqual([ada, eve, ada, eve].map(({ email }) => `You are ${email}.`))
    expect(await ofAda.call('count', { to: 3 })).toEqual({ text: 'Counted to 3.', progress: [1, 2, 3] })
    const session = ofAda.sessionId()
    await ofAda.end()
    if (session !== undefined) expect(await statusInSession(session, ofAda)).toBe(404)
    expect((await ofEve.call('whoami')).text).toBe(`You are ${eve.email}.`)
  })

  it('refuses calls past the door', async () => {
    const { url: audience } = upstream
    const statusOf = async (token: SignedToken): Promise<number> =>
      statusPastTheDoor(header(await signToken(server, token)))
    expect(await statusOf({ audience })).toBe(200)
    expect(await statusPastTheDoor({})).toBe(401)
    expect(await statusOf({ audience, isForged: true })).toBe(401)
    expect(await statusOf({ audience, ageSeconds: 3600 })).toBe(401)
    expect(await statusOf({ audience: `${audience}/other` })).toBe(401)
  })
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
const assertion = (token: string): Record<string, string> => ({ 'drawbridge-assertion': token })

describe.skipIf(!hasPythonPeers())('in Python', () => {
  const python =
    (choice: Pick<PythonServerOptions, 'environment' | 'script'>) =>
    (where: { port: number; issuer: string }): Promise<Upstream> =>
      startPythonServer({ ...choice, ...where })

  describe('FastMCP with its JWT verifier, and a tool that is said to be public', () => {
    const fastmcp = python({ environment: 'fastmcp-4', script: 'fastmcp_server.py' })
    beforeAll(() => open('bearer', fastmcp, { tools: { public: ['opening_hours'] } }))
    afterAll(close)
    itKnowsCallers(bearer)

    it('a client signs in at once, since it takes nobody else', async () => {
      const client = await connect('sdk 1, 2025-11-25', ada)
      expect(client.provider.authorizationUrls).toHaveLength(1)
      expect((await client.call('whoami')).text).toBe(`You are ${ada.email}.`)
      expect((await client.call('opening_hours', { x: '' })).text).toBe('Open from 9 to 5.')
    })

    it('promises nobody a call without a sign-in', async () => {
      const refused = await postMcp(server, { method: 'tools/list' })
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('resource_metadata='),
      ])
      const page = await server.fetch(`${server.baseUrl}/`, { headers: { accept: 'text/html' } })
      expect(await page.text()).not.toContain('opening_hours')
    })
  })

  describe.each(['mcp-1', 'mcp-2'] as const)('the SDK, %s', (environment) => {
    beforeAll(() => open('assertion', python({ environment, script: 'sdk_server.py' })))
    afterAll(close)
    itKnowsCallers(assertion)
  })
})

describe.skipIf(!(await buildGoServer()))('the Go SDK', () => {
  describe.each([
    ['with sessions', false],
    ['without sessions', true],
  ])('%s', (_name, stateless) => {
    beforeAll(() => open('bearer', (where) => startGoServer({ stateless, ...where })))
    afterAll(close)
    itKnowsCallers(bearer)
  })
})

describe('@modelcontextprotocol/server-everything', () => {
  beforeAll(async () => {
    upstream = await startEverythingServer()
    server = await startGateway({ url: upstream.url })
    ada = await createPerson(server)
  })
  afterAll(close)

  it.each(names)('%s: lists, calls, hears of progress, ends its session', async (name) => {
    const client = await connect(name, ada)
    expect(await client.listTools()).toContain('echo')
    expect((await client.call('echo', { message: 'über' })).text).toContain('über')
    const input = { duration: 1, steps: 2 }
    const long = await client.call('trigger-long-running-operation', input)
    expect(long.progress).toEqual([1, 2])
    expect(client.sessionId()).toBeDefined()
  })
})
