import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startEverythingServer } from '../peers/everything-server.ts'
import { startExpressServer } from '../peers/express-server.ts'
import { hasPythonPeers } from '../peers/python/python-peer.ts'
import { startPythonServer } from '../peers/python/python-server.ts'
import { buildRustServer, startRustServer } from '../peers/rust-server/rust-server.ts'
import { buildGoServer, startGoServer } from '../support/bridge/process/go-server.ts'
import { freePort } from '../support/server/free-port.ts'
import { type SignedToken, signToken, startGateway } from './gateway-server.ts'
import type { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson } from './person.ts'
import { postMcp } from './plain-client.ts'
import {
  connectSdkClient,
  type SdkClient,
  type SdkClientName,
  sdkClientNames,
  sdkClients,
} from './sdk-client.ts'
import type { ServerProcess } from './server-process.ts'

interface Upstream {
  url: string
  close(): Promise<void>
}

/** Starts an upstream, once the address of the server in front of it is known. */
type Start = (where: { port: number; issuer: string }) => Promise<Upstream>

/** A person with the tokens of one sign-in, which all clients use. */
interface Caller {
  email: string
  provider: MemoryOAuthProvider
}

let upstream: Upstream
let server: ServerProcess
let ada: Caller
let eve: Caller
const clients: SdkClient[] = []

async function open(document: Record<string, unknown>, start: Start): Promise<void> {
  const port = await freePort()
  server = await startGateway({ url: `http://127.0.0.1:${port}/mcp`, ...document })
  upstream = await start({ port, issuer: server.baseUrl })
  ada = await signUp()
  eve = await signUp()
}

async function close(): Promise<void> {
  await server?.close()
  await upstream?.close()
}

async function signUp(): Promise<Caller> {
  const person = await createPerson(server)
  const { provider, end } = await connectSdkClient('sdk 1, 2025-11-25', server, person)
  await end().catch(() => {})
  expect(provider.authorizationUrls).toHaveLength(1)
  return { email: person.email, provider }
}

afterEach(async () => {
  for (const client of clients.splice(0)) await client.end().catch(() => {})
})

async function connect(name: SdkClientName, { provider }: Caller): Promise<SdkClient> {
  const client = sdkClients[name](server, { provider })
  clients.push(client)
  await client.connect()
  return client
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
const assertion = (token: string): Record<string, string> => ({ 'drawbridge-assertion': token })
const tokenOf = ({ provider }: Caller): string => provider.tokens()?.access_token ?? ''

/** Returns the status of a message sent straight to the upstream. */
async function statusPastTheDoor(headers: Record<string, string>): Promise<number> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  const response = await postMcp(
    { ...server, mcpUrl: upstream.url },
    { method: 'initialize', params },
    headers,
  )
  await response.body?.cancel()
  return response.status
}

/** Tests what applies to every upstream that identifies callers by Drawbridge's assertion. */
function itKnowsCallers(header: (token: string) => Record<string, string>): void {
  it.each(sdkClientNames)(
    'the gateway for %s: lists, calls as two users, forwards progress, ends its session',
    async (name) => {
      const ofAda = await connect(name, ada)
      const ofEve = await connect(name, eve)
      expect(await ofAda.listTools()).toEqual(expect.arrayContaining(['whoami', 'count']))
      const said = await Promise.all([ofAda, ofEve, ofAda, ofEve].map((client) => client.call('whoami')))
      expect(said.map(({ text }) => text)).toEqual(
        [ada, eve, ada, eve].map(({ email }) => `You are ${email}.`),
      )
      expect(await ofAda.call('count', { to: 3 })).toEqual({ text: 'Counted to 3.', progress: [1, 2, 3] })
      const session = ofAda.sessionId()
      await ofAda.end()
      if (session !== undefined) {
        const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
        const late = await postMcp(server, { method: 'tools/list' }, { ...bearer(tokenOf(ada)), ...headers })
        expect(late.status).toBe(404)
      }
      expect((await ofEve.call('whoami')).text).toBe(`You are ${eve.email}.`)
    },
  )

  it('the upstream refuses calls without a valid assertion of the gateway', async () => {
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

/** Encodes ASCII text in UTF-7, as the body parser of Express decodes it. */
function utf7(text: string): string {
  const base64 = Buffer.from(text, 'utf16le').swap16().toString('base64').replace(/=+$/, '')
  return `+${base64}-`
}

/** In UTF-8 a call of a harmless tool with one odd text; in UTF-7 the text ends early, and another `name` follows. */
const hidden = utf7('"},"name":"delete_everything","more":{"y":"')
const attack = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"opening_hours","arguments":{"x":"${hidden}"}}}`

/** Returns the names that the upstream itself lists. */
async function namesPastTheDoor(): Promise<string[]> {
  const headers = bearer(await signToken(server, { audience: upstream.url }))
  const client = new Client({ name: 'past-the-door', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(upstream.url), { requestInit: { headers } }))
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name }) => name)
}

/** For an upstream whose tool `delete_everything` is denied. */
function itReadsUtf8(): void {
  it('the gateway reads a message as UTF-8 only, and refuses other charsets', async () => {
    expect(await namesPastTheDoor()).toEqual(expect.arrayContaining(['opening_hours', 'delete_everything']))
    const client = await connect('sdk 1, 2025-11-25', ada)
    expect(await client.listTools()).not.toContain('delete_everything')
    expect((await client.call('opening_hours', { x: hidden })).text).toBe('Open from 9 to 5.')
    const session = client.sessionId()
    const send = async (charset: string): Promise<[charset: string, status: number, text: string]> => {
      const response = await server.fetch(server.mcpUrl, {
        method: 'POST',
        headers: {
          ...bearer(tokenOf(ada)),
          accept: 'application/json, text/event-stream',
          'content-type': `application/json; charset=${charset}`,
          'mcp-protocol-version': '2025-11-25',
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
        body: attack,
      })
      return [charset, response.status, await response.text()]
    }
    expect(await send('utf-8')).toEqual(['utf-8', 200, expect.stringContaining('Open from 9 to 5.')])
    for (const charset of ['utf-7', 'UTF-7', 'utf-16le', 'utf-32', 'cp037'])
      expect(await send(charset)).toEqual([charset, 415, expect.not.stringContaining('Deleted')])
  })
}

const deny = { identity: ['bearer'], tools: { deny: ['delete_*'] } }

describe.skipIf(!hasPythonPeers())('in Python', () => {
  describe('FastMCP with its JWT verifier, and a tool that is said to be public', () => {
    const document = { ...deny, tools: { ...deny.tools, public: ['opening_hours'] } }
    beforeAll(() =>
      open(document, (where) =>
        startPythonServer({ environment: 'fastmcp-4', script: 'fastmcp_server.py', ...where }),
      ),
    )
    afterAll(close)
    itKnowsCallers(bearer)
    itReadsUtf8()

    it('FastMCP with its JWT verifier asks every caller to sign in, since the upstream takes no one else', async () => {
      const refused = await postMcp(server, { method: 'tools/list' })
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('resource_metadata='),
      ])
    })
  })

  describe.each(['mcp-1', 'mcp-2'] as const)('the SDK, %s', (environment) => {
    beforeAll(() =>
      open({}, (where) => startPythonServer({ environment, script: 'sdk_server.py', ...where })),
    )
    afterAll(close)
    itKnowsCallers(assertion)
  })
})

describe.skipIf(!(await buildGoServer()))('the Go SDK', () => {
  describe.each([
    ['with sessions', false],
    ['without sessions', true],
  ])('%s', (_name, stateless) => {
    beforeAll(() => open(deny, (where) => startGoServer({ stateless, ...where })))
    afterAll(close)
    itKnowsCallers(bearer)
    if (!stateless) itReadsUtf8()
  })
})

describe('createMcpExpressApp', () => {
  beforeAll(() => open(deny, ({ port }) => startExpressServer(port)))
  afterAll(close)
  itReadsUtf8()
})

describe.skipIf(!(await buildRustServer()))('the Rust SDK', () => {
  beforeAll(() => open(deny, startRustServer))
  afterAll(close)
  itReadsUtf8()
})

describe('@modelcontextprotocol/server-everything', () => {
  beforeAll(() => open({}, ({ port }) => startEverythingServer(port)))
  afterAll(close)

  it.each(sdkClientNames)(
    'the gateway for %s: lists, calls, forwards progress, ends its session',
    async (name) => {
      const client = await connect(name, ada)
      expect(await client.listTools()).toContain('echo')
      expect((await client.call('echo', { message: 'über' })).text).toContain('über')
      const long = await client.call('trigger-long-running-operation', { duration: 0.2, steps: 2 })
      expect(long.progress).toEqual([1, 2])
      expect(client.sessionId()).toBeDefined()
    },
  )
})
