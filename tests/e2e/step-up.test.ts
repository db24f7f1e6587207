import { fileURLToPath } from 'node:url'
import { createPrivateKeyJwtAuth } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keySample } from '../support/server/key-sample.ts'
import { type BridgeProcess, createBridgeHome, startBridge } from './bridge-process.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson, type Person } from './person.ts'
import { patienceMs } from './phone.ts'
import { postForm } from './plain-client.ts'
import { type SdkClient, sdkClients } from './sdk-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

let server: ServerProcess

beforeAll(async () => {
  const tools = fileURLToPath(new URL('scoped-tools.ts', import.meta.url))
  server = await startServer({ TOOLS: tools, SIGN_IN_LIMIT: '1000' })
})
afterAll(() => server?.close())

/** A client that registers the public half of its key, and signs with the other. */
async function createSigningClient(): Promise<{
  client: SdkClient
  prove(params: URLSearchParams): Promise<void>
}> {
  const key = await keySample('sdk')
  const privateKey = await crypto.subtle.exportKey('jwk', key.privateKey)
  const provider = new MemoryOAuthProvider({
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [key.published] },
  })
  const prove = async (params: URLSearchParams): Promise<void> => {
    const id = provider.clientInformation()?.client_id ?? ''
    const sign = createPrivateKeyJwtAuth({
      issuer: id,
      subject: id,
      privateKey: privateKey as Record<string, unknown>,
      alg: key.algorithm,
      audience: server.baseUrl,
    })
    await sign(new Headers(), params, server.baseUrl)
  }
  const addClientAuthentication = (_headers: Headers, params: URLSearchParams): Promise<void> => prove(params)
  const signing = Object.assign(provider, { addClientAuthentication })
  return { client: sdkClients['client 2, 2026-07-28 if it can'](server, { provider: signing }), prove }
}

describe('a client with private_key_jwt', () => {
  let person: Person
  let client: SdkClient
  let prove: (params: URLSearchParams) => Promise<void>

  const asked = (): string[] =>
    client.provider.authorizationUrls.at(-1)?.searchParams.get('scope')?.split(' ') ?? []
  const call = async (tool: string): Promise<string> => (await client.call(tool)).text

  /** Signs in as the client requested last. Returns what the user saw. */
  async function allow(): Promise<string> {
    const { html } = await person.browser.visit(client.provider.authorizationUrls.at(-1) ?? '')
    await client.signIn(person)
    return html
  }

  beforeAll(async () => {
    person = await createPerson(server)
    ;({ client, prove } = await createSigningClient())
    await expect(client.connect()).rejects.toThrow(/unauthorized/i)
    expect(asked()).not.toContain('orders:write')
    expect(await allow()).not.toContain('Order and cancel in your name')
    await client.connect()
  })
  afterAll(() => client?.end())

  it('a client with private_key_jwt lists every tool, and calls the ones that its token is for', async () => {
    expect(await client.listTools()).toEqual(['list_orders', 'cancel_order', 'say_scope'])
    expect(await call('say_scope')).toMatch(/^mcp(?: offline_access)?$/)
  })

  it('a call without its scope leads the user to allow it, and loses nothing (step-up)', async () => {
    await expect(call('cancel_order')).rejects.toThrow(/unauthorized/i)
    expect(asked()).toEqual(expect.arrayContaining(['mcp', 'orders:write']))
    expect(asked()).not.toContain('orders:read')
    expect(await allow()).toContain('Order and cancel in your name')
    expect(await call('cancel_order')).toBe('Cancelled.')

    await expect(call('list_orders')).rejects.toThrow(/unauthorized/i)
    expect(asked()).toEqual(expect.arrayContaining(['mcp', 'orders:read', 'orders:write']))
    await allow()
    expect([await call('list_orders'), await call('cancel_order')]).toEqual(['One order.', 'Cancelled.'])
    // Each connection ended with the step-up to the next.
    const reasons = (): unknown[] => server.events('grant_ended').map(({ reason }) => reason)
    await expect.poll(reasons).toEqual(['replaced', 'replaced'])
  })

  it('a client with private_key_jwt refreshes a revoked token by itself, and keeps every scope', async () => {
    const { savedTokens } = client.provider
    const before = savedTokens.length
    const fields = new URLSearchParams({ token: savedTokens.at(-1)?.access_token ?? '' })
    await prove(fields)
    expect((await postForm(server, '/oauth/revoke', Object.fromEntries(fields))).status).toBe(200)
    expect(await call('cancel_order')).toBe('Cancelled.')
    expect(savedTokens).toHaveLength(before + 1)
    expect(savedTokens.at(-1)?.scope).toBe(savedTokens.at(-2)?.scope)
  })
})

describe('two bridges of one user', { timeout: patienceMs }, () => {
  const home = createBridgeHome()
  let bridges: BridgeProcess[]
  beforeAll(() => {
    bridges = [0, 1].map(() => startBridge(server.mcpUrl, home))
  })
  afterAll(async () => {
    await Promise.all(bridges.map((bridge) => bridge.close()))
    home.remove()
  })

  it('a step-up in one bridge ends no work in the other, which asks for no sign-in', async () => {
    const [one, other] = bridges as [BridgeProcess, BridgeProcess]
    const person = await createPerson(server)
    await one.open()
    await fetch(await person.allow(await one.link()))
    await until(
      async () => (await one.call('say_scope')).startsWith('mcp'),
      () => one.stderr(),
    )
    await other.open()
    expect(await other.call('say_scope')).toMatch(/^mcp/)
    const cancelled = one.call('cancel_order')
    await until(() => one.links().length === 2, one.stderr)
    await fetch(await person.allow(one.links()[1] ?? ''))
    expect(await cancelled).toBe('Cancelled.')
    expect(await other.call('say_scope')).toContain('orders:write')
    expect([other.links(), one.links().length]).toEqual([[], 2])
  })
})
