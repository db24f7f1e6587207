import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import {
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { signInToWebApp } from '../../../tests/support/server/web-app-session.ts'

const api = '/account/api/connections'
const sales = { id: 'sales', name: 'Sales' }
const legal = { id: 'legal', name: 'Legal' }
const asked = 'mcp notes:read notes:write offline_access'
const narrowed = 'mcp notes:read offline_access'

let server: DrawbridgeFixture
let client: { client_id: string; client_secret?: string }
let tokens: Tokens
/** The user's token at the provider. */
let token: string
let listed: unknown
/** Runs in the tool `slow`, before it answers. */
let meanwhile: () => Promise<void>

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
  workspaces: async () => listed as [],
  tools: [
    { name: 'where', call: (_input, { scope, workspace }) => `${scope} | ${workspace?.id}` },
    { name: 'write', scope: 'notes:write', call: () => 'written' },
    {
      name: 'slow',
      async call(_input, { scope, workspace }) {
        await meanwhile()
        return `${scope} | ${workspace?.id}`
      },
    },
  ],
}

async function start(settings: Parameters<typeof startDrawbridge>[0] = {}): Promise<void> {
  listed = [sales]
  server = await startDrawbridge(settings, undefined, tools)
  client = await server.register({ token_endpoint_auth_method: 'client_secret_post' })
  tokens = await redeem(await server.code(client.client_id, { scope: asked }))
  listed = [sales, legal]
  ;({ access_token: token } = await signInToWebApp(server))
}

beforeEach(() => start())
afterEach(() => server.close())

const secret = (): Record<string, string> => ({ client_secret: client.client_secret ?? '' })
const json = async <Body>(response: Promise<Response>): Promise<Body> =>
  (await (await response).json()) as Body
const redeem = (code: string): Promise<Tokens> => json(server.redeem(client.client_id, code, secret()))
const refresh = (refreshToken: string, fields: Record<string, string> = {}): Promise<Tokens> =>
  json(server.refresh(client.client_id, refreshToken, { ...secret(), ...fields }))
const introspect = (of: string): Promise<{ active: boolean; scope?: string }> =>
  json(server.postForm('/oauth/introspect', { client_id: client.client_id, ...secret(), token: of }))

const send = (method: string, id = '', body?: unknown): Promise<Response> =>
  server.fetch(id === '' ? api : `${api}/${id}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const only = async (): Promise<string> => {
  const { connections } = await json<{ connections: { id: string }[] }>(send('GET'))
  expect(connections).toHaveLength(1)
  return connections[0]?.id ?? ''
}
async function narrow(body: unknown = { scope: 'mcp notes:read' }): Promise<void> {
  expect((await send('PATCH', await only(), body)).status).toBe(200)
}
const where = async (by: string): Promise<string> => (await server.callTool(by, 'where')).text

describe('the scope of a narrowed grant', () => {
  it.each<[what: string, scopeSaid: (before: Tokens) => Promise<string | undefined>]>([
    ['introspection of its access token', async () => (await introspect(tokens.access_token)).scope],
    ['introspection of its refresh token', async () => (await introspect(tokens.refresh_token)).scope],
    ['a refresh', async () => (await refresh(tokens.refresh_token)).scope],
    [
      'a refresh that asks for all again',
      async () => (await refresh(tokens.refresh_token, { scope: asked })).scope,
    ],
    [
      'a refresh that asks for what was taken back alone',
      async () => (await refresh(tokens.refresh_token, { scope: 'notes:write' })).scope,
    ],
    [
      'a call with a token from before',
      async () => (await where(tokens.access_token)).replace(' | sales', ''),
    ],
  ])('the narrowed scope is what %s says', async (_what, scopeSaid) => {
    await narrow()
    expect(await scopeSaid(tokens)).toBe(narrowed)
  })

  it('a refresh token that is sent again after its grant was narrowed gets the same tokens, with the narrowed scope', async () => {
    const first = await refresh(tokens.refresh_token)
    expect(first.scope).toBe(asked)
    await narrow()
    const again = await refresh(tokens.refresh_token)
    expect(again).toMatchObject({ access_token: first.access_token, scope: narrowed })
    expect(await where(again.access_token)).toContain(narrowed)
  })

  it('refreshes and changes at once leave one grant, whose every token has the narrowed scope', async () => {
    const id = await only()
    const [, ...refreshed] = await Promise.all([
      send('PATCH', id, { scope: 'mcp notes:read', workspace: 'legal' }),
      ...Array.from({ length: 5 }, () => refresh(tokens.refresh_token)),
    ])
    for (const { access_token: by } of [tokens, ...refreshed])
      expect(await where(by)).toBe(`${narrowed} | legal`)
    expect(new Set(refreshed.map(({ access_token: by }) => by)).size).toBe(1)
  })

  it('offline_access is not a choice: it can be left out of a change, and stays', async () => {
    await narrow({ scope: '' })
    expect((await refresh(tokens.refresh_token)).scope).toBe('mcp offline_access')
    expect((await send('PATCH', await only(), { scope: 'mcp offline_access' })).status).toBe(200)
  })
})

it('an approval whose code is not redeemed yet is not listed, and keeps its choice when the connection of its client is narrowed', async () => {
  listed = [sales]
  const code = await server.code(client.client_id, { scope: asked })
  const { connections } = await json<{ connections: { id: string }[] }>(send('GET'))
  expect(connections).toHaveLength(1)
  await narrow()
  expect((await redeem(code)).scope).toBe(asked)
})

describe('a call under way', () => {
  it('a call keeps the choice that it began with, and the next one has the new choice', async () => {
    meanwhile = () => narrow({ scope: 'mcp', workspace: 'legal' })
    expect((await server.callTool(tokens.access_token, 'slow')).text).toBe(`${asked} | sales`)
    expect(await where(tokens.access_token)).toBe('mcp offline_access | legal')
  })

  it('a call whose user is removed from the workspace meanwhile ends, and the next one is refused', async () => {
    meanwhile = async () => {
      listed = [legal]
      server.runtime.advance(3500)
    }
    expect((await server.callTool(tokens.access_token, 'slow')).text).toContain('sales')
    const refused = await server.mcp(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'where', arguments: {} } },
      { authorization: `Bearer ${tokens.access_token}` },
    )
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({ error: 'workspace_lost' })
  })
})

it('without SESSION_CHECK a removed user is refused after the next refresh of the session, never put elsewhere', async () => {
  await server.close()
  await start({ sessionCheck: 'off' })
  listed = [legal]
  server.runtime.advance(1800)
  expect(await where(tokens.access_token)).toContain('sales')
  server.runtime.advance(1780)
  const refused = await server.mcp(
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { authorization: `Bearer ${tokens.access_token}` },
  )
  expect(refused.status).toBe(403)
  expect((await refresh(tokens.refresh_token)).scope).toBe(asked)
})

it.each<[what: string, body: unknown]>([
  ['an empty body', {}],
  ['the same scope twice', { scope: 'mcp mcp notes:read notes:read notes:write' }],
  ['the scopes in another order', { scope: 'notes:write notes:read mcp' }],
])('a change with %s changes nothing', async (_what, body) => {
  await narrow(body)
  expect((await refresh(tokens.refresh_token)).scope).toBe(asked)
  expect(server.events('grant_changed')).toEqual([])
})
