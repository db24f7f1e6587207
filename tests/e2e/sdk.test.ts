import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAllConnected } from './attempt-facts.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson, type Person } from './person.ts'
import { type SdkClient, type SdkClientName, sdkClients } from './sdk-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const accessTokenSeconds = 300

let server: ServerProcess
let person: Person
/** Those that have signed in, by name and method. */
const connected = new Map<string, SdkClient>()

beforeAll(async () => {
  server = await startServer({ ACCESS_TOKEN_TTL: `${accessTokenSeconds}s` })
  person = await createPerson(server)
})
afterAll(async () => {
  await expectAllConnected(server, 1)
  await server.close()
})

const applications: [name: SdkClientName, method: string, revision: string | undefined][] = [
  ['sdk 1, 2025-11-25', 'none', undefined],
  ['sdk 1, 2025-11-25', 'client_secret_post', undefined],
  ['sdk 1, 2025-11-25', 'client_secret_basic', undefined],
  ['client 2, 2025-11-25', 'none', '2025-11-25'],
  ['client 2, 2026-07-28 if it can', 'none', '2026-07-28'],
]

/** Opens a client that was refused, and so has asked for a sign-in. */
async function openRefused(name: SdkClientName, method = 'none'): Promise<SdkClient> {
  const provider = new MemoryOAuthProvider({ token_endpoint_auth_method: method })
  const client = sdkClients[name](server, { provider })
  await expect(client.connect()).rejects.toThrow(/unauthorized/i)
  return client
}

describe('the official SDK', () => {
  it.each(applications)(
    'Spec 5.2, MCP transport Versioning: speaks its revision, registers, signs in, lists and calls tools: %s, %s',
    async (name, method, revision) => {
      const client = await openRefused(name, method)
      await client.signIn(person)
      await client.connect()
      expect([client.revision(), client.serverName()]).toEqual([revision, 'drawbridge'])
      expect(await client.listTools()).toEqual(expect.arrayContaining(['whoami', 'list_notes', 'add_note']))
      expect((await client.call('whoami')).text).toBe(`You are ${person.email}.`)
      await client.call('add_note', { text: `über ${name} ${method}` })
      expect((await client.call('list_notes')).text).toContain(`über ${name} ${method}`)
      connected.set(name + method, client)
    },
  )

  it('MCP auth Scope-Selection-Strategy: asks for the resource and the scope that the challenge names', async () => {
    const { provider } = await openRefused('sdk 1, 2025-11-25')
    const parameters = provider.authorizationUrls[0]?.searchParams
    expect(parameters?.get('resource')).toBe(server.mcpUrl)
    expect(parameters?.get('scope')).toBe('mcp')
    expect(parameters?.get('code_challenge_method')).toBe('S256')
  })

  it('MCP auth Mix-Up-Attacks: does not redeem a code that another issuer sent', async () => {
    const { provider, finish } = await openRefused('client 2, 2026-07-28 if it can')
    const callback = await person.allow(provider.authorizationUrls[0] as URL)
    expect(callback.searchParams.get('iss')).toBe(server.baseUrl)
    callback.searchParams.set('iss', 'https://evil.example')
    await expect(finish(callback.searchParams)).rejects.toThrow()
    expect(provider.savedTokens).toEqual([])
  })
})

describe('an access token that has expired', () => {
  beforeAll(async () => {
    expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    await server.start({ aheadSeconds: accessTokenSeconds + 1 })
  })

  it.each(applications)(
    'an expired access token is refreshed by %s with %s itself, without a browser',
    async (name, method) => {
      const { call, provider, end } = connected.get(name + method) as SdkClient
      // The second line of the SDK redeems the same refresh token once for each call at that time.
      const calls = name === 'sdk 1, 2025-11-25' ? [1] : [1, 2, 3]
      const texts = await Promise.all(calls.map(async () => (await call('whoami')).text))
      expect(new Set(texts)).toEqual(new Set([`You are ${person.email}.`]))
      const [first, ...refreshed] = provider.savedTokens.map(({ refresh_token: token }) => token)
      expect(refreshed).not.toEqual([])
      expect(refreshed).not.toContain(first)
      expect(provider.authorizationUrls).toHaveLength(1)
      await end()
    },
  )
})
