import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { expectAllConnected } from './attempt-facts.ts'
import { createPerson, type Person } from './person.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const accessTokenSeconds = 300

let server: ServerProcess
let person: Person
let aheadSeconds = 0

beforeAll(async () => {
  server = await startServer({ ACCESS_TOKEN_TTL: `${accessTokenSeconds}s` })
  person = await createPerson(server)
})
afterAll(async () => {
  await expectAllConnected(server, 1)
  await server.close()
})

/** Restarts the server with its clock that many seconds ahead. */
async function restart(laterSeconds: number): Promise<void> {
  aheadSeconds += laterSeconds
  expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  await server.start({ aheadSeconds })
}

const eras = [
  { mode: 'legacy', era: 'legacy', revision: '2025-11-25' },
  { mode: 'auto', era: 'modern', revision: '2026-07-28' },
  { mode: { pin: '2026-07-28' }, era: 'modern', revision: '2026-07-28' },
] as const

type Mode = (typeof eras)[number]['mode']

function createTransport(authProvider?: MemoryOAuthProvider): StreamableHTTPClientTransport {
  const options = { fetch: server.fetch, ...(authProvider && { authProvider }) }
  return new StreamableHTTPClientTransport(new URL(server.mcpUrl), options)
}

function createClient(mode: Mode): Client {
  return new Client({ name: 'client-of-2026', version: '1.0.0' }, { versionNegotiation: { mode } })
}

async function signIn(provider: MemoryOAuthProvider, mode: Mode): Promise<Client> {
  const refused = createTransport(provider)
  await expect(createClient(mode).connect(refused)).rejects.toThrow(UnauthorizedError)
  const [authorizationUrl] = provider.authorizationUrls as [URL]
  const callback = await person.allow(authorizationUrl)
  expect(callback.searchParams.get('state')).toBe(provider.state())
  // Checks iss before anything else.
  await refused.finishAuth(callback.searchParams)
  const client = createClient(mode)
  await client.connect(createTransport(provider))
  return client
}

async function textOf(client: Client, name: string, input = {}): Promise<string> {
  const result = await client.callTool({ name, arguments: input })
  expect(result.isError ?? false).toBe(false)
  return result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')
}

describe.each(eras)('@modelcontextprotocol/client, negotiating $mode', ({ mode, era, revision }) => {
  it(`Spec 5.2, MCP transport Versioning: speaks ${revision}: registers, signs in, lists and calls tools`, async () => {
    const client = await signIn(new MemoryOAuthProvider(), mode)
    expect(client.getProtocolEra()).toBe(era)
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    expect(client.getServerVersion()?.name).toBe('drawbridge')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['whoami', 'list_notes', 'add_note']),
    )
    expect(await textOf(client, 'whoami')).toBe(`You are ${person.email}.`)
    await textOf(client, 'add_note', { text: `über ${era}` })
    expect(await textOf(client, 'list_notes')).toContain(`über ${era}`)
    await client.close()
  })

  it('refreshes by itself when the access token has expired, also with calls in parallel', async () => {
    const provider = new MemoryOAuthProvider()
    const client = await signIn(provider, mode)
    await restart(accessTokenSeconds + 1)
    // This client redeems the same refresh token once for each of these calls.
    const texts = await Promise.all([1, 2, 3].map(() => textOf(client, 'whoami')))
    expect(new Set(texts)).toEqual(new Set([`You are ${person.email}.`]))
    const [first, ...refreshed] = provider.savedTokens.map((tokens) => tokens.refresh_token)
    expect(new Set(refreshed).size).toBe(1)
    expect(refreshed).not.toContain(first)
    expect(provider.authorizationUrls).toHaveLength(1)
    await client.close()
  })

  it('MCP auth Mix-Up-Attacks: does not redeem a code that another issuer sent', async () => {
    const provider = new MemoryOAuthProvider()
    const transport = createTransport(provider)
    await expect(createClient(mode).connect(transport)).rejects.toThrow(UnauthorizedError)
    const callback = await person.allow(provider.authorizationUrls[0] as URL)
    callback.searchParams.set('iss', 'https://evil.example')
    await expect(transport.finishAuth(callback.searchParams)).rejects.toThrow()
    expect(provider.savedTokens).toEqual([])
  })
})
