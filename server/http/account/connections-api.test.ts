import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import {
  account,
  appUrl,
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { sessionCookieHeader, signInToWebApp } from '../../../tests/support/server/web-app-session.ts'

const path = '/account/api/connections'
const folder = temporaryFolder(afterAll)
const sales = { id: 'sales', name: 'Sales' }
const legal = { id: 'legal', name: 'Legal' }

interface Connection {
  id: string
  client: { id: string; name: string | null }
  scope: string
  workspace: object | null
  created_at: string
  expires_at: string
  last_used_at: string | null
  last_tool: string | null
}

let server: DrawbridgeFixture
/** The user's token at the provider. */
let token: string
let listed: unknown
let tokens: Tokens
let clientId: string

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
  workspaces: async ({ providerToken }) => {
    if (providerToken() === '') throw new Error('There is no token.')
    if (listed instanceof Error) throw listed
    return listed as []
  },
  tools: [
    {
      name: 'where',
      call: (_input, { scope, workspace }) => `${scope} | ${workspace?.id} ${workspace?.name}`,
    },
    { name: 'write', scope: 'notes:write', call: () => 'written' },
  ],
}

beforeEach(async () => {
  listed = [sales]
  server = await startDrawbridge({}, undefined, tools)
  ;({ clientId, tokens } = await server.connect({ scope: 'mcp notes:read notes:write offline_access' }))
  listed = [sales, legal]
  ;({ access_token: token } = await signInToWebApp(server))
})
afterEach(() => server.close())

const send = (
  method: string,
  {
    id,
    body,
    headers = { authorization: `Bearer ${token}` },
  }: { id?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Response> =>
  server.fetch(id === undefined ? path : `${path}/${id}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

async function list(): Promise<Connection[]> {
  const response = await send('GET')
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('no-store')
  return ((await response.json()) as { connections: Connection[] }).connections
}

const first = async (): Promise<string> => (await list())[0]?.id ?? ''
const errorOf = async (response: Response): Promise<unknown> => [
  response.status,
  ((await response.json()) as { error: string }).error,
]

describe('the list of connections for the web app', () => {
  it('the API says 403 to a user whom the access rules do not allow, whose token is fine', async () => {
    const access = join(folder, 'access.json')
    writeFileSync(access, '{"rules":[{"allow":{"sub":["someone else"]}}]}')
    await server.close()
    server = await startDrawbridge({ access }, undefined, tools)
    ;({ access_token: token } = await signInToWebApp(server))
    expect(await errorOf(await send('GET'))).toEqual([403, 'access_denied'])
  })

  it('the API lists what the user granted, with times in ISO 8601', async () => {
    expect((await server.callTool(tokens.access_token, 'where')).text).toBe(
      'mcp notes:read notes:write offline_access | sales Sales',
    )
    const [connection, ...others] = await list()
    expect(others).toEqual([])
    expect(connection).toMatchObject({
      client: { id: clientId },
      scope: 'mcp notes:read notes:write',
      workspace: sales,
    })
    const { created_at: created, expires_at: expires } = connection ?? { created_at: '', expires_at: '' }
    expect(Date.parse(expires) - Date.parse(created)).toBe(30 * 86_400_000)
    expect(created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/)
  })

  it.each<[what: string, headers: () => Record<string, string>, status: number]>([
    ['no credential', () => ({}), 401],
    ['a made-up token', () => ({ authorization: 'Bearer nothing' }), 401],
    ["a client's own token", () => ({ authorization: `Bearer ${tokens.access_token}` }), 401],
    ['a foreign origin', () => ({ authorization: `Bearer ${token}`, origin: 'https://evil.example' }), 403],
  ])('the API refuses %s, for every method', async (_what, headers, status) => {
    const id = await first()
    for (const [method, body] of [['GET'], ['PATCH', { scope: 'mcp' }], ['DELETE']] as const) {
      const response = await send(method, { ...(method !== 'GET' && { id }), body, headers: headers() })
      expect(response.status).toBe(status)
    }
    expect(await list()).toHaveLength(1)
  })

  it('the API takes the session cookie from a trusted origin, and from no other page', async () => {
    const cookie = sessionCookieHeader(await signInToWebApp(server))
    const id = await first()
    const origin = { cookie, origin: appUrl, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }
    const own = await send('GET', { headers: origin })
    expect(own.status).toBe(200)
    expect(own.headers.get('access-control-allow-origin')).toBe(appUrl)
    expect(own.headers.get('access-control-allow-credentials')).toBe('true')
    for (const headers of [
      { cookie, origin: 'https://evil.example' },
      { cookie, origin: 'http://localhost:5173' },
      { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
    ]) {
      expect((await send('DELETE', { id, headers })).status).toBe(403)
    }
    expect(await list()).toHaveLength(1)
  })

  it('a preflight lets the web app send PATCH and DELETE', async () => {
    const headers = {
      origin: appUrl,
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization, content-type',
    }
    const response = await server.fetch(`${path}/x`, { method: 'OPTIONS', headers })
    expect(response.headers.get('access-control-allow-methods')).toMatch(/PATCH.*DELETE/)
    expect(response.headers.get('access-control-allow-headers')).toContain('authorization')
  })
})

describe('a change of a connection', () => {
  it('a narrowed scope and another workspace hold at the next call, and after a refresh', async () => {
    const response = await send('PATCH', {
      id: await first(),
      body: { scope: 'mcp notes:read', workspace: 'legal' },
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ scope: 'mcp notes:read', workspace: legal })
    expect((await server.callTool(tokens.access_token, 'where')).text).toBe(
      'mcp notes:read offline_access | legal Legal',
    )
    const refused = await server.mcp(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: {} } },
      { authorization: `Bearer ${tokens.access_token}` },
    )
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    const refreshed = await server.refresh(clientId, tokens.refresh_token)
    expect(await refreshed.json()).toMatchObject({ scope: 'mcp notes:read offline_access' })
    expect(server.events('grant_changed')).toMatchObject([
      { client_id: clientId, scope: 'mcp notes:read offline_access', workspace: 'legal' },
    ])
  })

  it.each<[what: string, body: unknown, answer: [status: number, error: string]]>([
    ['a scope that was not granted', { scope: 'mcp notes:admin' }, [400, 'invalid_scope']],
    ['a workspace of somebody else', { workspace: 'other' }, [400, 'invalid_workspace']],
    ['a list', [], [400, 'invalid_request']],
    ['null', null, [400, 'invalid_request']],
    ['a number as scope', { scope: 7 }, [400, 'invalid_request']],
    ['null as workspace', { workspace: null }, [400, 'invalid_request']],
    ['a misspelt member', { scopes: 'mcp' }, [400, 'invalid_request']],
  ])('the API refuses %s, and changes nothing', async (_what, body, answer) => {
    const before = await list()
    expect(await errorOf(await send('PATCH', { id: before[0]?.id ?? '', body }))).toEqual(answer)
    expect(await list()).toEqual(before)
    if (answer[1] !== 'invalid_request') expect(server.events('choice_refused')).toHaveLength(1)
  })

  it('the API says when the app cannot list its workspaces, and tries again later', async () => {
    const id = await first()
    listed = new Error('down')
    const response = await send('PATCH', { id, body: { workspace: 'legal' } })
    expect(response.headers.get('retry-after')).toBe('5')
    expect(await errorOf(response)).toEqual([503, 'temporarily_unavailable'])
    listed = [legal]
    expect((await send('PATCH', { id, body: { workspace: 'legal' } })).status).toBe(200)
  })

  it.each(['nothing', '..', '%2e%2e', '%00', '%E0%A4%A', encodeURIComponent("' OR 1=1 --")])(
    'the API knows no connection %s',
    async (id) => {
      expect((await send('PATCH', { id, body: { scope: 'mcp' } })).status).toBe(404)
      expect((await send('DELETE', { id })).status).toBe(404)
    },
  )

  it('a connection of another user is unknown to the API', async () => {
    const id = await first()
    const email = 'eve@example.com'
    await server.admin.createUser({ ...account, email })
    const { access_token: theirs } = await signInToWebApp(server, email)
    const headers = { authorization: `Bearer ${theirs}` }
    expect(await (await send('GET', { headers })).json()).toEqual({ connections: [] })
    expect((await send('PATCH', { id, body: { scope: 'mcp' }, headers })).status).toBe(404)
    expect((await send('DELETE', { id, headers })).status).toBe(404)
    expect(await list()).toHaveLength(1)
  })

  it('a connection that the API ends is refused at once, and is gone from the list', async () => {
    const id = await first()
    expect((await send('DELETE', { id })).status).toBe(204)
    expect(await list()).toEqual([])
    expect((await send('DELETE', { id })).status).toBe(404)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const response = await server.mcp(call, { authorization: `Bearer ${tokens.access_token}` })
    expect(response.status).toBe(401)
    expect(server.events('connection_revoked')).toHaveLength(1)
  })

  it('the API refuses the tokens and the cookie of the provider where the server takes none', async () => {
    const other = await startDrawbridge({ sessionTokens: 'off' }, undefined, tools)
    const session = await signInToWebApp(other)
    const origin = { origin: appUrl, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }
    for (const headers of [
      { authorization: `Bearer ${session.access_token}` },
      { ...origin, cookie: sessionCookieHeader(session) },
    ])
      expect((await other.fetch(path, { headers })).status).toBe(401)
    await other.close()
  })

  it('other methods are not allowed', async () => {
    expect((await send('POST', { body: {} })).status).toBe(405)
    expect((await send('GET', { id: await first() })).status).toBe(405)
  })
})

it('a user who has left the workspace gets 403 with the reason, and comes back by choosing another', async () => {
  const id = await first()
  listed = [legal]
  server.runtime.advance(3500)
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const refused = await server.mcp(call, { authorization: `Bearer ${tokens.access_token}` })
  expect(await errorOf(refused)).toEqual([403, 'workspace_lost'])
  expect(refused.headers.has('www-authenticate')).toBe(false)
  expect(server.events('workspace_lost')).toMatchObject([{ client_id: clientId, workspace: 'sales' }])
  ;({ access_token: token } = await signInToWebApp(server))
  expect((await send('PATCH', { id, body: { workspace: 'legal' } })).status).toBe(200)
  expect((await server.callTool(tokens.access_token, 'where')).text).toContain('legal Legal')
})
