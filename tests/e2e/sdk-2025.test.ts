import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
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

function createTransport(authProvider?: MemoryOAuthProvider): StreamableHTTPClientTransport {
  const options = { fetch: server.fetch, ...(authProvider && { authProvider }) }
  return new StreamableHTTPClientTransport(new URL(server.mcpUrl), options)
}

function createClient(): Client {
  return new Client({ name: 'client-of-2025', version: '1.0.0' })
}

/** Connects like an application: refused, browser, callback, connected. */
async function signIn(provider: MemoryOAuthProvider): Promise<Client> {
  const refused = createTransport(provider)
  await expect(createClient().connect(refused)).rejects.toThrow(UnauthorizedError)
  const [authorizationUrl] = provider.authorizationUrls as [URL]
  const callback = await person.allow(authorizationUrl)
  expect(callback.searchParams.get('state')).toBe(provider.state())
  expect(callback.searchParams.get('iss')).toBe(server.baseUrl)
  await refused.finishAuth(callback.searchParams.get('code') ?? '')
  const client = createClient()
  await client.connect(createTransport(provider))
  return client
}

async function textOf(client: Client, name: string, input = {}): Promise<string> {
  const result = await client.callTool({ name, arguments: input })
  expect(result.isError ?? false).toBe(false)
  return (result.content as { text: string }[]).map(({ text }) => text).join('\n')
}

describe('@modelcontextprotocol/sdk, revision 2025-11-25', () => {
  it.each(['none', 'client_secret_post', 'client_secret_basic'])(
    'registers with %s, signs in, lists and calls tools',
    async (method) => {
      const provider = new MemoryOAuthProvider({ token_endpoint_auth_method: method })
      const client = await signIn(provider)
      expect(client.getServerVersion()?.name).toBe('drawbridge')
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['whoami', 'list_notes', 'add_note']),
      )
      expect(await textOf(client, 'whoami')).toBe(`You are ${person.email}.`)
      await textOf(client, 'add_note', { text: `by ${method}` })
      expect(await textOf(client, 'list_notes')).toContain(`by ${method}`)
      await client.close()
    },
  )

  it('MCP auth Scope-Selection-Strategy: asks for the resource and the scope that the challenge names', async () => {
    const provider = new MemoryOAuthProvider()
    await (await signIn(provider)).close()
    const parameters = provider.authorizationUrls[0]?.searchParams
    expect(parameters?.get('resource')).toBe(server.mcpUrl)
    expect(parameters?.get('scope')).toBe('mcp')
    expect(parameters?.get('code_challenge_method')).toBe('S256')
  })

  it('refreshes by itself when the access token has expired, without a browser', async () => {
    const provider = new MemoryOAuthProvider()
    const client = await signIn(provider)
    for (const round of [1, 2]) {
      await restart(accessTokenSeconds + 1)
      expect(await textOf(client, 'whoami')).toContain(person.email)
      expect(provider.savedTokens).toHaveLength(1 + round)
    }
    expect(new Set(provider.savedTokens.map((tokens) => tokens.refresh_token)).size).toBe(3)
    expect(provider.authorizationUrls).toHaveLength(1)
    await client.close()
  })
})
