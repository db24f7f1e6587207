import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appSettings } from '../../../tests/support/server/app-fixture.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import type { Settings } from '../../config/setting-table.ts'
import { parseSecretKeys } from '../../config/store-address.ts'
import { readAttempts } from '../../core/attempts/attempt-list.ts'
import type { Client } from '../../core/clients/client.ts'
import { rotateKeyRing } from '../../core/operator/key-rotation.ts'
import { hashSecret } from '../../core/seal.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'

const secret = 's3cret of the service'
const key = (kid: string): string => `${kid}:${Buffer.alloc(32, kid).toString('base64')}`

let server: DrawbridgeFixture

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
  tools: [
    {
      name: 'where',
      call: (_input, { scope, user, clientId, credential }) =>
        `${user.sub} | ${user.name} | ${clientId} | ${credential} | ${scope}`,
    },
    { name: 'list_notes', scope: 'notes:read', call: () => 'listed' },
    { name: 'write', scope: 'notes:write', call: () => 'written' },
    { name: 'as_person', call: (_input, { providerToken }) => providerToken() },
    { name: 'fetch_as_person', call: async (_input, context) => (await context.fetch('/api/notes')).text() },
    {
      name: 'assertion',
      call: async (_input, context) =>
        JSON.stringify((await context.assertion('https://api.example')).split('.').length),
    },
  ],
}

const service = (given: Partial<Client> = {}): Client =>
  publicClient({
    id: 'mcpc_service',
    kind: 'service',
    name: 'Nightly report',
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scope: 'mcp notes:read',
    authMethod: 'client_secret_basic',
    secretHash: hashSecret(secret),
    ...given,
  })

async function start(settings: Settings = {}, client: Partial<Client> = {}): Promise<void> {
  server = await startDrawbridge(settings, undefined, tools)
  await server.app.store.addClient(service(client))
}

beforeEach(() => start())
afterEach(() => server.close())

const basic = (id = 'mcpc_service', password = secret): Record<string, string> => ({
  authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`)}`,
})

const ask = (fields: Record<string, string> = {}, headers = basic()): Promise<Response> =>
  server.postForm('/oauth/token', { grant_type: 'client_credentials', ...fields }, headers)

interface Answer {
  access_token: string
  refresh_token?: string
  expires_in: number
  scope: string
  error?: string
}

const answer = async (response: Response): Promise<Answer> => (await response.json()) as Answer

const token = async (fields?: Record<string, string>): Promise<string> =>
  (await answer(await ask(fields))).access_token

const statusOf = async (bearer: string): Promise<number> =>
  (await server.mcp({ jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization: `Bearer ${bearer}` })).status

describe('a service', () => {
  it('RFC 6749 4.4: the token endpoint issues an access token for the service itself, without a refresh token', async () => {
    const response = await ask()
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    const body = await answer(response)
    expect(body).toMatchObject({ token_type: 'Bearer', scope: 'mcp notes:read' })
    expect(body.refresh_token).toBeUndefined()
    expect(body.expires_in).toBeLessThanOrEqual(3600)
    expect(body.expires_in).toBeGreaterThan(3500)
    const { text } = await server.callTool(body.access_token, 'where', {})
    expect(text).toBe('service:mcpc_service | Nightly report | mcpc_service | service | mcp notes:read')
  })

  it('the secret is taken in the header and in the form', async () => {
    const inForm = { client_id: 'mcpc_service', client_secret: secret }
    expect((await ask(inForm, {})).status).toBe(200)
  })

  it('the token ends after an hour, or with the setting if that is shorter', async () => {
    const bearer = await token()
    server.runtime.advance(3599)
    expect(await statusOf(bearer)).toBe(200)
    server.runtime.advance(2)
    expect(await statusOf(bearer)).toBe(401)
    await server.close()
    await start({ accessTokenTtl: '10m' })
    expect((await answer(await ask())).expires_in).toBeLessThanOrEqual(600)
    await server.close()
    await start({ accessTokenTtl: '2h' })
    expect((await answer(await ask())).expires_in).toBeLessThanOrEqual(3600)
  })

  it('nothing of its session is refreshed or written again within the hour', async () => {
    const bearer = await token()
    const [record] = await server.app.store.listGrants(undefined, { after: '', limit: 1 })
    const stored = (): Promise<unknown> => server.app.store.findProviderSession(record?.grant.id ?? '')
    const first = await stored()
    server.runtime.advance(3599)
    expect(await statusOf(bearer)).toBe(200)
    await server.app.upkeep()
    expect(await stored()).toEqual(first)
  })

  it.each([
    ['notes:read', 'mcp notes:read'],
    ['mcp', 'mcp'],
    ['notes:read notes:write', 'mcp notes:read'],
    ['notes:read openid', 'mcp notes:read'],
  ])('asked for %s it gets %s', async (scope, expected) => {
    expect((await answer(await ask({ scope }))).scope).toBe(expected)
  })

  it('a tool of its scope works, and one beyond is refused with 403', async () => {
    const bearer = await token()
    expect(await server.callTool(bearer, 'list_notes', {})).toMatchObject({ text: 'listed' })
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: {} } }
    expect((await server.mcp(call, { authorization: `Bearer ${bearer}` })).status).toBe(403)
  })

  it.each(['as_person', 'fetch_as_person'])(
    'the tool %s, which acts as a person, says that a service is none',
    async (name) => {
      expect(await server.callTool(await token(), name, {})).toMatchObject({
        isError: true,
        text: expect.stringContaining('a service is none'),
      })
      expect(server.events('tool_failed')).toEqual([])
    },
  )

  it('the assertion for the app’s own API works in full', async () => {
    expect((await server.callTool(await token(), 'assertion', {})).text).toBe('3')
  })

  it('only the tools of --tools are listed and can be called', async () => {
    await server.close()
    await start({}, { tools: ['list_*'] })
    const bearer = await token()
    const list = await server.mcp(
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      { authorization: `Bearer ${bearer}` },
    )
    expect(await list.text()).toMatch(/list_notes/)
    expect(await server.callTool(bearer, 'list_notes', {})).toMatchObject({ text: 'listed' })
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'where', arguments: {} } }
    expect(await (await server.mcp(call, { authorization: `Bearer ${bearer}` })).text()).toMatch(
      /There is no tool/,
    )
  })

  it('the provider is never asked about it, also when its session is checked or ended', async () => {
    await server.close()
    await start({ sessionCheck: '1m' })
    const bearer = await token()
    server.admin.setFaults({ failNext: { status: 500, count: 1000 } })
    server.runtime.advance(600)
    expect(await statusOf(bearer)).toBe(200)
    const [record] = await server.app.store.listGrants(undefined, { after: '', limit: 1 })
    await server.app.store.endGrant(record?.grant.id ?? '', 'revoked_by_operator', server.runtime.now())
    expect(await statusOf(bearer)).toBe(401)
    expect(server.logged()).not.toContain('provider_probe_failed')
  })

  it.each<[what: string, settings: Settings]>([
    ['an OpenID provider', { provider: 'oidc' }],
    ['an OpenID provider with one session of a user', { provider: 'oidc', providerSessions: 'one' }],
    ['Supabase', { provider: 'supabase', providerKey: 'sb_publishable_key' }],
    [
      'a web app with SESSION_URL',
      {
        ...appSettings,
        appUrl: 'https://app.example',
        signInUrl: 'https://app.example/connect',
        sessionUrl: 'https://app.example/s/',
      },
    ],
  ])('%s is not asked about it: for tokens, checks, hours, new keys and ends', async (_what, settings) => {
    await server.close()
    const asked: string[] = []
    const runtime = createFakeRuntime()
    runtime.fetch = async ({ url }) => {
      asked.push(url)
      throw new TypeError('fetch failed')
    }
    const all = {
      store: `sqlite:${join(temporaryFolder(), 'server.db')}`,
      ...(settings.provider !== 'app' && { providerUrl: 'https://id.example' }),
      ...(settings.provider === 'oidc' && { providerClientId: 'drawbridge' }),
      sessionCheck: '1m',
      ...settings,
      secretKeys: key('a'),
    }
    server = await startDrawbridge(all, runtime, tools)
    await server.app.store.addClient(service({ tools: ['where'] }))
    const bearers: string[] = []
    for (let round = 0; round < 6; round += 1) {
      bearers.push(await token())
      runtime.advance(3000)
      await server.app.upkeep()
      expect(await statusOf(bearers.at(-1) ?? '')).toBe(200)
    }
    bearers.push(await token(), await token())
    const { store } = server.app
    const ring = { keys: () => parseSecretKeys(`${key('b')},${key('a')}`), refresh() {} }
    const rotation = { store, ring, runtime, note() {}, isStopped: () => false }
    expect(await rotateKeyRing(rotation)).toMatchObject({ unreadable: 0, left: 0 })
    await server.close()
    server = await startDrawbridge({ ...all, secretKeys: key('b') }, runtime, tools)
    const [first = '', second = ''] = bearers.slice(-2)
    expect((await server.callTool(first, 'where', {})).text).toContain('Nightly report')
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_notes', arguments: {} },
    }
    const refused = await server.mcp(call, { authorization: `Bearer ${first}` })
    expect(await refused.text()).toContain('There is no tool')
    await server.postForm('/oauth/revoke', { token: first }, basic())
    await server.app.upkeep()
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200])
    expect(asked.filter((url) => !/well-known|jwks/.test(url))).toEqual([])
  })

  it('metadata announces client_credentials once there is a service', async () => {
    const announced = async (): Promise<boolean> =>
      (await (await server.fetch('/.well-known/oauth-authorization-server')).text()).includes(
        'client_credentials',
      )
    expect(await announced()).toBe(true)
    await server.app.store.removeClient('mcpc_service')
    server.runtime.advance(11)
    expect(await announced()).toBe(false)
    await server.app.store.addClient(service())
    server.runtime.advance(11)
    expect(await announced()).toBe(true)
    await server.app.store.close()
    server.runtime.advance(11)
    expect(await announced()).toBe(true)
  })

  it('private_key_jwt: a signed assertion is taken, and once only', async () => {
    await server.close()
    const { publicKey, privateKey } = await generateKeyPair('ES256')
    const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }
    await start(
      {},
      { authMethod: 'private_key_jwt', secretHash: undefined, keys: { kind: 'jwks', keys: [jwk] } },
    )
    const sign = (claims: JWTPayload = {}): Promise<string> =>
      new SignJWT({
        iss: 'mcpc_service',
        sub: 'mcpc_service',
        aud: 'http://localhost:8787',
        jti: crypto.randomUUID(),
        iat: server.runtime.now(),
        exp: server.runtime.now() + 60,
        ...claims,
      })
        .setProtectedHeader({ alg: 'ES256', kid: 'k' })
        .sign(privateKey)
    const send = async (assertion: string): Promise<number> =>
      (
        await ask(
          {
            client_id: 'mcpc_service',
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: assertion,
          },
          {},
        )
      ).status
    const once = await sign()
    expect(await Promise.all([send(once), send(once)])).toEqual(expect.arrayContaining([200, 401]))
  })

  it('it introspects and revokes its own token alone, which the API of connections refuses', async () => {
    await server.app.store.addClient(service({ id: 'mcpc_other' }))
    const bearer = await token()
    const api = { headers: { authorization: `Bearer ${bearer}` } }
    expect((await server.fetch('/account/api/connections', api)).status).toBe(401)
    const introspect = async (headers: Record<string, string>): Promise<unknown> =>
      (await server.postForm('/oauth/introspect', { token: bearer }, headers)).json()
    expect(await introspect(basic('mcpc_other'))).toEqual({ active: false })
    expect(await introspect(basic())).toMatchObject({ active: true, client_id: 'mcpc_service' })
    await server.postForm('/oauth/revoke', { token: bearer }, basic('mcpc_other'))
    expect(await statusOf(bearer)).toBe(200)
    await server.postForm('/oauth/revoke', { token: bearer }, basic())
    expect(await statusOf(bearer)).toBe(401)
  })

  it('the record of calls and the steps of clients name it, also after wrong secrets', async () => {
    await ask({}, basic('mcpc_service', 'wrong'))
    const bearer = await token()
    await server.callTool(bearer, 'where', {})
    expect(server.events('tool_called')).toMatchObject([
      { sub: 'service:mcpc_service', client_id: 'mcpc_service', credential: 'service', tool: 'where' },
    ])
    await server.app.upkeep()
    const { store } = server.app
    const attempts = await readAttempts(
      { limit: 9 },
      { store, configured: new Map(), runtime: server.runtime },
    )
    const [named, ...others] = attempts.filter(({ client }) => client !== undefined)
    expect(named).toMatchObject({ client: 'Nightly report', result: 'connected' })
    expect([others, named?.steps.filter(({ ok }) => !ok)]).toEqual([[], []])
    expect(server.events('sign_in_failed')).toEqual([])
  })

  it('operators see its grant, and end it by the grant and by removing the client', async () => {
    const bearer = await token()
    const { store } = server.app
    const [record] = await store.listGrants({ clientId: 'mcpc_service' }, { after: '', limit: 9 })
    expect(record?.grant.user).toMatchObject({ sub: 'service:mcpc_service', email: undefined })
    await store.endGrants({ clientId: 'mcpc_service' }, 'client_removed', {
      now: server.runtime.now(),
      limit: 9,
    })
    expect(await statusOf(bearer)).toBe(401)
  })

  it('access rules apply to it by its client, and narrow its own tools', async () => {
    await server.close()
    const access = join(temporaryFolder(), 'access.json')
    const write = (rules: object[]): void => writeFileSync(access, JSON.stringify({ rules }))
    write([{ allow: { client: ['mcpc_service'] }, tools: { allow: ['where'] } }])
    await start({ access }, { tools: ['where', 'list_*'] })
    const bearer = await token()
    expect((await server.callTool(bearer, 'where', {})).text).toContain('service:mcpc_service')
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const listed = await (await server.mcp(list, { authorization: `Bearer ${bearer}` })).text()
    expect(listed).toContain('"where"')
    expect(listed).not.toContain('"list_notes"')
    write([{ allow: { email: ['*@example.com'] } }])
    server.runtime.advance(2)
    expect(await statusOf(bearer)).toBe(401)
  })
})

describe('a refused request of a service', () => {
  it('of a client that is none is refused as an unknown grant type, as without services', async () => {
    const { client_id: id, client_secret: password = '' } = await server.register({
      token_endpoint_auth_method: 'client_secret_basic',
    })
    const response = await ask({}, basic(id, password))
    expect([response.status, (await answer(response)).error]).toEqual([400, 'unsupported_grant_type'])
  })

  it('a client cannot register as a service', async () => {
    const response = await server.fetch('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'x', grant_types: ['client_credentials'], redirect_uris: [] }),
    })
    expect(response.status).toBe(400)
  })

  it('a service cannot sign users in', async () => {
    const page = await server.browser().visit(server.authorizeUrl('mcpc_service'))
    expect(page.status).toBe(400)
  })

  it('beyond sixty a minute is refused with 429 and when to return, and another service is not', async () => {
    await server.app.store.addClient(service({ id: 'mcpc_other' }))
    const statuses: number[] = []
    for (let sent = 0; sent < 62; sent += 1) statuses.push((await ask()).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(60)
    const last = await ask()
    expect(last.status).toBe(429)
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await ask({}, basic('mcpc_other'))).status).toBe(200)
    server.runtime.advance(61)
    expect((await ask()).status).toBe(200)
  })
})
