import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import {
  account,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { signInToWebApp } from '../../../tests/support/server/web-app-session.ts'
import type { Settings } from '../../config/setting-table.ts'
import { hashSecret } from '../../core/seal.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'

const day = 86_400
const sales = { id: 'sales', name: 'Sales' }
const legal = { id: 'legal', name: 'Legal' }

let server: DrawbridgeFixture
let browser: Browser
let listed: { id: string; name: string }[]

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' },
  workspaces: async () => listed,
  tools: [
    {
      name: 'where',
      call: (_input, { scope, workspace, user, providerToken }) =>
        `${user.email} | ${scope} | ${workspace?.id} | ${providerToken().length > 20}`,
    },
    { name: 'write', scope: 'notes:write', call: () => 'written' },
  ],
}

const start = async (settings: Settings = {}): Promise<void> => {
  server = await startDrawbridge({ personalTokens: 'on', ...settings }, undefined, tools)
  browser = server.browser()
}

beforeEach(async () => {
  listed = []
  await start()
})
afterEach(() => server.close())

const open = (at: Browser = browser): Promise<Visit> => at.visit('http://localhost:8787/account/connections')

async function connections(at: Browser = browser): Promise<Visit> {
  const login = await open(at)
  return login.html.includes('name="transaction"') ? at.submit(login, 'password', account) : login
}

const form = { name: 'CI', days: '7', action: 'make_token' }

const ask = async (fields: Record<string, string | string[]> = {}, at: Browser = browser): Promise<Visit> =>
  at.submit(await connections(at), 'days', { ...form, ...fields })

async function make(fields: Record<string, string | string[]> = {}): Promise<string> {
  const page = await browser.submit(await ask(fields), 'password', account)
  const [token] = /mcpt_[\w-]+/.exec(page.html) ?? []
  expect(token, page.html.slice(-2000)).toBeDefined()
  return token ?? ''
}

const statusOf = async (token: string): Promise<number> =>
  (await server.mcp({ jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization: `Bearer ${token}` })).status

const where = async (token: string): Promise<string> => (await server.callTool(token, 'where', {})).text

const addResourceServer = async (): Promise<void> => {
  await server.app.store.addClient({
    ...publicClient({ id: 'api', kind: 'configured', introspects: true, redirectUris: [], grantTypes: [] }),
    authMethod: 'client_secret_post',
    secretHash: hashSecret('s3cret'),
  })
}

const introspect = async (token: string): Promise<unknown> =>
  (await server.postForm('/oauth/introspect', { token, client_id: 'api', client_secret: 's3cret' })).json()

describe('a personal token', () => {
  it('the form makes one after a fresh sign-in, which calls tools as the user with a session of its own', async () => {
    expect((await connections()).html).toMatch(/value="7"\s+checked/)
    const login = await ask({ scope: ['notes:write'] })
    expect(login.html).toContain('Sign in and make the token')
    expect(login.html).toContain('“<bdi>CI</bdi>”')
    expect(login.html).not.toContain('mcpt_')
    const page = await browser.submit(login, 'password', account)
    const [token = ''] = /mcpt_[\w-]+/.exec(page.html) ?? []
    expect(token).toMatch(/^mcpt_[\w-]{37}[0-9A-Za-z]{6}$/)
    expect(page.response?.headers.get('cache-control')).toBe('no-store')
    const end = new Date((server.runtime.now() + 7 * day) * 1000).toISOString()
    expect(page.html).toContain(`<time datetime="${end.slice(0, 16)}`)
    expect(page.html).toContain('href="/account/connections"')
    expect(await where(token)).toBe('ada@example.com | mcp notes:write | undefined | true')
    expect(await server.callTool(token, 'write', {})).toMatchObject({ text: 'written' })
    expect(server.events('personal_token_made')).toMatchObject([{ client_id: 'personal_token:CI' }])
  })

  it('one without ticked scopes has the tool scope alone, and a call beyond is refused', async () => {
    const token = await make()
    expect(await where(token)).toContain('| mcp |')
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: {} } }
    const refused = await server.mcp(call, { authorization: `Bearer ${token}` })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toContain('insufficient_scope')
  })

  it.each([
    ['7', 7],
    ['30', 30],
    ['90', 90],
  ])(
    'one for %s days works until then and no longer, its provider session refreshed underneath',
    async (days, count) => {
      const token = await make({ days })
      for (let passed = 0; passed < count - 1; passed += 1) {
        server.runtime.advance(day)
        expect(await where(token), `day ${passed}`).toContain('ada@example.com')
      }
      server.runtime.advance(day - 60)
      expect(await statusOf(token)).toBe(200)
      server.runtime.advance(61)
      expect(await statusOf(token)).toBe(401)
    },
  )

  it('one of several workspaces is chosen after the sign-in', async () => {
    listed = [sales, legal]
    const page = await browser.submit(await ask(), 'password', account)
    const made = await browser.submit(page, 'workspace', { workspace: 'legal' })
    const [token = ''] = /mcpt_[\w-]+/.exec(made.html) ?? []
    expect(await where(token)).toContain('| legal |')
    listed = [sales]
    server.runtime.advance(3600)
    expect(await statusOf(token)).toBe(403)
  })

  it('the connections page lists it by its name with its last use, and ends it at the next call', async () => {
    const token = await make({ name: 'Nightly <build>' })
    expect(await statusOf(token)).toBe(200)
    const page = await open()
    expect(page.html).toContain('Nightly &lt;build&gt;')
    expect(page.html).toContain('A personal token')
    expect(page.html).not.toContain('no longer registered')
    expect(page.html).not.toContain(token)
    const [, id = ''] = /name="connection" value="([^"]+)"/.exec(page.html) ?? []
    await browser.submit(page, 'connection', { connection: id, action: 'end' })
    expect(await statusOf(token)).toBe(401)
  })

  it('its scope can be taken back without another token', async () => {
    const token = await make({ scope: ['notes:read', 'notes:write'] })
    const [record] = await server.app.store.listGrants(undefined, { after: '', limit: 1 })
    const change = await browser.visit(
      `http://localhost:8787/account/connections?change=${record?.grant.id ?? ''}`,
    )
    await browser.submit(change, 'connection', { scope: ['notes:read'], action: 'change' })
    expect(await where(token)).toContain('| mcp notes:read |')
  })

  it('the web app lists it by the API, which takes no personal token', async () => {
    const token = await make()
    const { access_token: bearer } = await signInToWebApp(server)
    const list = (authorization: string): Promise<Response> =>
      server.fetch('/account/api/connections', { headers: { authorization: `Bearer ${authorization}` } })
    expect(await (await list(bearer)).json()).toMatchObject({
      connections: [{ client: { id: 'personal_token:CI', name: 'CI' }, scope: 'mcp' }],
    })
    expect((await list(token)).status).toBe(401)
  })

  it('a resource server of the operator sees it by introspection, with its name, scope and end', async () => {
    await addResourceServer()
    const token = await make({ days: '30', scope: ['notes:read'] })
    expect(await introspect(token)).toMatchObject({
      active: true,
      client_id: 'personal_token:CI',
      scope: 'mcp notes:read',
      token_type: 'Bearer',
      exp: server.runtime.now() + 30 * day,
      username: 'ada@example.com',
    })
    expect(await introspect(`${token}x`)).toEqual({ active: false })
  })

  it('ends with the sign-in at the provider, and with all connections of the user', async () => {
    const first = await make()
    const { id = '' } = server.admin.findUser(account.email) ?? {}
    for (const session of server.admin.listSessions(id)) server.admin.endSession(session.id)
    server.runtime.advance(3600)
    expect(await statusOf(first)).toBe(401)
    const [second, third] = [await make({ name: 'a' }), await make({ name: 'b' })]
    expect(await Promise.all([statusOf(second), statusOf(third)])).toEqual([200, 200])
    await browser.submit(await open(), 'action', { action: 'end_all' })
    expect(await Promise.all([statusOf(second), statusOf(third)])).toEqual([401, 401])
  })

  it('two sign-ins at the same moment do not make the eleventh', async () => {
    for (let made = 0; made < 9; made += 1) {
      server.runtime.advance(20)
      await make({ name: `t${made}` })
    }
    server.runtime.advance(60)
    const waiting = [await ask({ name: 'one' }), await ask({ name: 'two' })]
    const pages = await Promise.all(waiting.map((page) => browser.submit(page, 'password', account)))
    const tokens = pages.flatMap(({ html }) => /mcpt_[\w-]{43}/.exec(html) ?? [])
    expect(tokens.length).toBeLessThanOrEqual(1)
    const live = (await server.app.store.listGrants(undefined, { after: '', limit: 20 })).filter(
      ({ end }) => end === undefined,
    )
    expect(live).toHaveLength(9 + tokens.length)
  })

  it('ten are the most: the form says so before the sign-in, and two forms at once do not make eleven by one more sign-in', async () => {
    for (let made = 0; made < 9; made += 1) {
      server.runtime.advance(20)
      await make({ name: `t${made}` })
    }
    server.runtime.advance(60)
    const waiting = await ask({ name: 'late' })
    await make({ name: 'tenth' })
    const late = await browser.submit(waiting, 'password', account)
    expect(late.html).toContain('You have ten tokens already')
    expect(late.html).not.toMatch(/mcpt_[\w-]{43}/)
    expect((await ask({ name: 'eleventh' })).html).toContain('You have ten tokens already')
    server.runtime.advance(60)
    const [, id = ''] = /name="connection" value="([^"]+)"/.exec((await open()).html) ?? []
    await browser.submit(await open(), 'connection', { connection: id, action: 'end' })
    expect(await statusOf(await make({ name: 'in its place' }))).toBe(200)
  })
})

describe('a refused personal token', () => {
  it.each<[what: string, fields: Record<string, string | string[]>]>([
    ['without a name', { name: '' }],
    ['with a name of blanks and controls', { name: ' \u0007\u200B ' }],
    ['with a name of 41 characters', { name: 'x'.repeat(41) }],
    ['for other days', { days: '365' }],
    ['without days', { days: '' }],
    ['with an unknown scope', { scope: ['admin'] }],
    ['with a scope that is none of the boxes', { scope: ['offline_access'] }],
  ])('the form refuses one %s', async (_what, fields) => {
    const page = await ask(fields)
    expect(page.html).toContain('No token was made')
    expect(page.html).not.toContain('type="password"')
  })

  it('a form of another site, of another browser or without the seal makes none', async () => {
    const page = await connections()
    const stranger = server.browser()
    await stranger.visit('http://localhost:8787/oauth/device')
    expect((await stranger.submit(page, 'days', form)).html).not.toContain('make the token')
    const sent = await server.postForm('/account/connections', form, {
      cookie: browser.cookieHeader('http://localhost:8787/'),
      origin: 'https://evil.example',
    })
    expect(sent.status).toBe(403)
    const unsealed = await server.postForm('/account/connections', form, {
      cookie: browser.cookieHeader('http://localhost:8787/'),
      origin: 'http://localhost:8787',
      'sec-fetch-site': 'same-origin',
    })
    expect(unsealed.status).toBe(303)
    expect(await server.app.store.listGrants(undefined, { after: '', limit: 9 })).toEqual([])
  })

  it('the sign-in page of one cannot be turned into another: its wish is sealed', async () => {
    const login = await ask()
    const page = await browser.submit(login, 'password', {
      ...account,
      scope: ['notes:write'],
      days: '90',
      name: 'other',
    })
    const [token = ''] = /mcpt_[\w-]+/.exec(page.html) ?? []
    expect(await where(token)).toContain('| mcp |')
    server.runtime.advance(7 * day + 1)
    expect(await statusOf(token)).toBe(401)
  })

  it.each<[what: string, spoil: (token: string) => string]>([
    ['another checksum', (token) => token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')],
    [
      'another letter',
      (token) => token.replace(/^mcpt_./, (start) => (start.endsWith('A') ? 'mcpt_B' : 'mcpt_A')),
    ],
    ['one letter too many', (token) => `${token}0`],
    ['the prefix of an access token', (token) => token.replace('mcpt_', 'mcpa_')],
    [
      'a right checksum of a secret that nobody has',
      () => 'mcpt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4M5hNp',
    ],
  ])('a token with %s is unknown', async (_what, spoil) => {
    const token = await make()
    expect(await statusOf(spoil(token))).toBe(401)
    expect(await statusOf(token)).toBe(200)
  })

  it('made-up tokens without a right checksum do not reach the store', async () => {
    await server.app.store.close()
    expect(await statusOf(`mcpt_${'x'.repeat(37)}000000`)).toBe(401)
  })

  it('an account with a second factor makes one only with its code', async () => {
    const { id = '' } = server.admin.findUser(account.email) ?? {}
    await connections()
    const login = await ask()
    server.admin.enrollTotp(id)
    const page = await browser.submit(login, 'password', account)
    expect(page.html).not.toMatch(/mcpt_[\w-]{43}/)
    expect(page.html).toContain('name="code"')
  })

  it('users whom the access rules refuse make none, though they see the page', async () => {
    await server.close()
    const access = join(temporaryFolder(), 'access.json')
    writeFileSync(access, JSON.stringify({ rules: [{ deny: { email: [account.email] } }, { allow: {} }] }))
    await start({ access })
    const page = await browser.submit(await ask(), 'password', account)
    expect(page.status).toBe(403)
    expect(page.html).not.toMatch(/mcpt_[\w-]{43}/)
  })

  it('an access rule about personal tokens holds when one is made, and at the next call of one that is there', async () => {
    await server.close()
    const access = join(temporaryFolder(), 'access.json')
    const write = (rules: object[]): void => writeFileSync(access, JSON.stringify({ rules }))
    write([{ allow: {} }])
    await start({ access })
    const token = await make()
    expect(await statusOf(token)).toBe(200)
    write([{ deny: { client: ['personal_token'] } }, { allow: {} }])
    server.runtime.advance(2)
    expect(await statusOf(token)).toBe(401)
    const page = await browser.submit(await ask({ name: 'other' }), 'password', account)
    expect(page.status).toBe(403)
    expect(page.html).not.toMatch(/mcpt_[\w-]{43}/)
    expect((await server.connect()).tokens.access_token).toMatch(/^mcpa_/)
  })

  it.each<[language: string, word: RegExp]>([
    ['en', /personal token|mcpt_|client_credentials|\bservices?\b/i],
    ['de', /Persönliche|Zugriffstoken|mcpt_|client_credentials|\bDienste?\b/i],
  ])(
    'without the setting and a service, no page or metadata mentions tokens (%s)',
    async (language, word) => {
      await server.close()
      await start({ personalTokens: 'off' })
      await server.connect()
      browser = server.browser(language)
      const pages = [await open(), await connections()]
      const { client_id: id } = await server.register()
      pages.push(await browser.visit(server.authorizeUrl(id)))
      const documents = ['', '/oauth/device', '/.well-known/oauth-authorization-server'].concat(
        ['', '/mcp'].map((path) => `/.well-known/oauth-protected-resource${path}`),
      )
      for (const path of documents) pages.push(await browser.visit(`http://localhost:8787${path}`))
      for (const { html, url } of pages) expect(html, url.href).not.toMatch(word)
      expect(pages.every(({ status }) => status === 200)).toBe(true)
    },
  )

  it('with personal tokens off, the page has no form, and a token made before is refused and can still be ended', async () => {
    await server.close()
    const store = `sqlite:${join(temporaryFolder(), 'server.db')}`
    await start({ store })
    const token = await make()
    expect(await statusOf(token)).toBe(200)
    await addResourceServer()
    expect(await introspect(token)).toMatchObject({ active: true })
    await server.close()
    await start({ store, personalTokens: 'off' })
    const page = await connections()
    expect(page.html).not.toContain('Make a personal token')
    expect(page.html).toContain('CI')
    const posted = await browser.submit(page, 'form', form)
    expect(posted.html).toContain('No token was made')
    expect(await statusOf(token)).toBe(401)
    expect(await introspect(token)).toEqual({ active: false })
    const metadata = await (await server.fetch('/.well-known/oauth-authorization-server')).text()
    expect(metadata).not.toContain('personal')
  })

  it('no token is in the log or in a step of a client, wherever it is sent', async () => {
    const token = await make()
    await where(token)
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    const paths = [
      '',
      'mcp/',
      'mcp?access_token=',
      'account/connections?change=',
      'account/api/connections/',
    ].concat([
      'oauth/authorize?client_id=',
      'oauth/callback?state=x&code=',
      'oauth/app?request=',
      '.well-known/',
    ])
    for (const path of paths) {
      await server.fetch(`/${path}${token}`)
      for (const method of ['POST', 'DELETE'])
        await server.fetch(`/${path}${token}`, { method, headers, body: JSON.stringify({ [token]: token }) })
    }
    const messages = [
      { method: token },
      { method: 'tools/call', params: { name: token, arguments: {} } },
      { method: 'tools/call', params: { name: 'where', arguments: { token } } },
      { method: 'resources/read', params: { uri: `notes:${token}` } },
      { method: 'prompts/get', params: { name: token } },
    ]
    for (const message of messages) await server.mcp({ jsonrpc: '2.0', id: token, ...message }, headers)
    for (const name of ['mcp-session-id', 'x-request-id', 'traceparent', 'referer', 'authorization'])
      await server.fetch('/mcp', { method: 'POST', headers: { ...headers, [name]: token }, body: token })
    for (const path of ['token', 'revoke', 'introspect', 'device_authorization'])
      for (const name of [
        'client_id',
        'client_secret',
        'client_assertion',
        'token',
        'code',
        'refresh_token',
        'scope',
      ])
        await server.postForm(`/oauth/${path}`, {
          grant_type: 'refresh_token',
          client_id: 'x',
          [name]: token,
        })
    await statusOf(`${token}x`)
    await server.app.upkeep()
    const steps = JSON.stringify(await server.app.store.listAttemptSteps(1000))
    expect(steps).toContain('invalid_client')
    expect(server.logged() + steps).not.toContain(token.slice(5, 40))
  })

  it('the calls with it count as its user’s, beside those of a client', async () => {
    await server.close()
    await start({ callLimit: '3/m' })
    const [token, other] = [await make(), (await server.connect()).tokens.access_token]
    const statuses: number[] = []
    for (const bearer of [token, other, token, other]) statuses.push(await statusOf(bearer))
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it('the record of calls names it and its kind', async () => {
    await where(await make({ name: 'Büro 1' }))
    expect(server.events('tool_called')).toMatchObject([
      { client_id: 'personal_token:B%C3%BCro%201', credential: 'personal_token', tool: 'where' },
    ])
  })
})
