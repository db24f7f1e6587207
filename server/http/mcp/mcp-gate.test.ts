import { decodeJwt } from 'jose'
import { tokenKey } from '../../core/tokens/token-issue.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  account,
  appUrl,
  baseUrl,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { rotationTerms, successorSample } from '../../../tests/support/server/core/grant-sample.ts'
import {
  sessionCookieHeader,
  signInToWebApp,
  type WebAppSession,
} from '../../../tests/support/server/web-app-session.ts'

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const toolNames = ['whoami', 'list_notes', 'add_note', 'delete_note']

const drawbridge = await startDrawbridge({ registrationLimit: '1000', signInLimit: '1000' })
afterAll(() => drawbridge.close())

const providerSession = (email?: string): Promise<WebAppSession> => signInToWebApp(drawbridge, email)

async function toolList(response: Response): Promise<string[]> {
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toContain('application/json')
  const body = (await response.json()) as { result: { tools: { name: string }[] } }
  return body.result.tools.map(({ name }) => name)
}

const metadata = `${baseUrl}/.well-known/oauth-protected-resource/mcp`

it.each(['POST', 'GET', 'HEAD', 'DELETE', 'PUT', 'PROPFIND'])(
  'MCP transport Security-Warning, RFC 6750 3: %s without a credential: 401 with a challenge without an error, before anything else',
  async (method) => {
    const response = await drawbridge.fetch('/mcp', { method })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${metadata}", scope="mcp"`,
    )
    expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
  },
)

describe('credential (a): an access token of this server', () => {
  it('Spec 1: a bare tools/list, as the requirement shows it, is answered with JSON', async () => {
    const { tokens } = await drawbridge.connect()
    const response = await drawbridge.mcp(listTools, { authorization: `Bearer ${tokens.access_token}` })
    expect(await toolList(response)).toEqual(toolNames)
  })

  it('MCP auth Error-Handling, OAuth 2.1 5.2, RFC 6750 3.1: a token without the scope of the tools gets 403 with the scope that is missing', async () => {
    const { tokens } = await drawbridge.connect()
    const now = drawbridge.runtime.now()
    const narrow = {
      ...successorSample('narrow'),
      scope: 'offline_access',
      accessHash: tokenKey('mcpa_narrow'),
      accessExpiresAt: now + 3600,
    }
    const presented = tokenKey(tokens.refresh_token)
    await drawbridge.app.store.rotateRefreshToken(presented, narrow, rotationTerms(now))
    const response = await drawbridge.mcp(listTools, { authorization: 'Bearer mcpa_narrow' })
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(response.headers.get('www-authenticate')).toContain('scope="mcp"')
  })
})

it('Spec 8: an outage is served from the token that still lives, then 503 without a challenge, never a logout', async () => {
  const other = await startDrawbridge({ accessTokenTtl: '30d' })
  const { tokens } = await other.connect()
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  const admin = other.admin
  admin?.setFaults({ failNext: { status: 503, count: 1000 } })
  other.runtime.advance(3570)
  expect((await other.mcp(listTools, headers)).status).toBe(200)
  other.runtime.advance(60)
  const away = await other.mcp(listTools, headers)
  expect(away.status).toBe(503)
  expect(Number(away.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(away.headers.get('www-authenticate')).toBeNull()
  admin?.setFaults({})
  other.runtime.advance(6)
  expect((await other.mcp(listTools, headers)).status).toBe(200)
  await other.close()
})

describe('credential (b): an access token of the provider', () => {
  it('Spec 5.1: a provider token lists the tools, and acts as its user', async () => {
    const { access_token: token } = await providerSession()
    expect(await toolList(await drawbridge.mcp(listTools, { authorization: `Bearer ${token}` }))).toEqual(
      toolNames,
    )
    expect((await drawbridge.callTool(token, 'whoami')).text).toBe(`You are ${account.email}.`)
  })

  it('Spec 5.4: a provider token is refused once it has expired, and is never refreshed', async () => {
    const { access_token: token } = await providerSession()
    drawbridge.runtime.advance(3600)
    expect((await drawbridge.mcp(listTools, { authorization: `Bearer ${token}` })).status).toBe(401)
  })

  it.each<[rule: string, change: (claims: Record<string, unknown>) => Record<string, unknown>]>([
    ['another audience', (claims) => ({ ...claims, aud: 'another' })],
    ['the service role', (claims) => ({ ...claims, role: 'service_role' })],
  ])(
    'Spec 5.1, MCP auth Access-Token-Privilege-Restriction: a well-signed provider token is refused with %s',
    async (_rule, change) => {
      const admin = drawbridge.admin
      const { access_token: token } = await providerSession()
      const claims = decodeJwt(token)
      const statusOf = async (signed: Record<string, unknown>): Promise<number> =>
        (await drawbridge.mcp(listTools, { authorization: `Bearer ${await admin.signClaims(signed)}` }))
          .status
      expect(await statusOf(claims)).toBe(200)
      expect(await statusOf(change(claims))).toBe(401)
    },
  )

  it.each<[setting: 'on' | 'off', verb: string, status: number]>([
    ['on', 'accepts', 200],
    ['off', 'refuses', 401],
  ])('SESSION_TOKENS=%s %s a provider token, and the cookie too', async (sessionTokens, _verb, status) => {
    const other = await startDrawbridge({ sessionTokens })
    const session = await signInToWebApp(other)
    const authorization = `Bearer ${session.access_token}`
    expect((await other.mcp(listTools, { authorization })).status).toBe(status)
    const cookie = sessionCookieHeader(session)
    expect((await other.mcp(listTools, { cookie, origin: appUrl })).status).toBe(status)
    await other.close()
  })
})

describe('credential (c): the session cookie', () => {
  it.each<[string, Record<string, string>]>([
    ['from the web app', { origin: appUrl, 'sec-fetch-site': 'same-site' }],
    ['from this origin', { origin: baseUrl, 'sec-fetch-site': 'same-origin' }],
    ['by hand, without any origin', {}],
  ])(
    'Spec 5.3: the session cookie is used if there is no Authorization header, %s',
    async (_name, headers) => {
      const cookie = sessionCookieHeader(await providerSession())
      expect(await toolList(await drawbridge.mcp(listTools, { cookie, ...headers }))).toEqual(toolNames)
    },
  )

  it('the session cookie is not read beside an Authorization header, wherever the request comes from', async () => {
    const cookie = sessionCookieHeader(await providerSession())
    const navigation = { cookie, 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' }
    const { tokens } = await drawbridge.connect()
    const authorization = `Bearer ${tokens.access_token}`
    expect(await toolList(await drawbridge.mcp(listTools, { ...navigation, authorization }))).toEqual(
      toolNames,
    )
    expect((await drawbridge.mcp(listTools, { cookie, authorization: 'Bearer x' })).status).toBe(401)
  })

  it('the session cookie lets only a trusted origin read the response with credentials', async () => {
    const cookie = sessionCookieHeader(await providerSession())
    const response = await drawbridge.mcp(listTools, { cookie, origin: appUrl })
    expect(response.headers.get('access-control-allow-origin')).toBe(appUrl)
    expect(response.headers.get('access-control-allow-credentials')).toBe('true')
    expect(response.headers.get('vary')).toContain('Origin')
    const ask = async (names: string): Promise<string | null> => {
      const headers = { origin: appUrl, 'access-control-request-headers': names }
      const preflight = await drawbridge.fetch('/mcp', { method: 'OPTIONS', headers })
      return preflight.headers.get('access-control-allow-credentials')
    }
    expect(await ask('content-type')).toBe('true')
    expect(await ask('authorization,content-type')).toBeNull()
  })

  it.each<[string, Record<string, string>]>([
    ['another page on this computer', { origin: 'http://localhost:3000' }],
    ['a navigation', { 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'none' }],
    ['a no-cors request', { origin: appUrl, 'sec-fetch-mode': 'no-cors' }],
  ])('the session cookie is refused with 403 for %s', async (_name, headers) => {
    const cookie = sessionCookieHeader(await providerSession())
    const response = await drawbridge.mcp(listTools, { cookie, ...headers })
    expect(response.status).toBe(403)
    const readable = headers['origin'] === appUrl ? 'true' : null
    expect(response.headers.get('access-control-allow-credentials')).toBe(readable)
  })
})

it.each<[string, number, string | null]>([
  [appUrl, 200, '*'],
  ['http://localhost:6274', 200, '*'],
  ['null', 403, null],
])('a request from the origin %s with a bearer is %i', async (origin, status, allowed) => {
  const { tokens } = await drawbridge.connect()
  const response = await drawbridge.mcp(listTools, {
    authorization: `Bearer ${tokens.access_token}`,
    origin,
  })
  expect(response.status).toBe(status)
  expect(response.headers.get('access-control-allow-origin')).toBe(allowed)
  const preflight = await drawbridge.fetch('/mcp', {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-headers': 'authorization,mcp-param-region' },
  })
  expect(preflight.status).toBe(status === 200 ? 204 : 403)
  if (status === 200)
    expect(preflight.headers.get('access-control-allow-headers')).toContain('mcp-param-region')
})

describe('the message', () => {
  let authorization: string
  beforeAll(async () => {
    authorization = `Bearer ${(await drawbridge.connect()).tokens.access_token}`
  })

  const send = (message: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    drawbridge.mcp(message, { authorization, ...headers })

  it.each<[rule: string, message: unknown, code: number]>([
    ['no JSON', '{"jsonrpc"', -32_700],
    ['an empty body', '', -32_700],
    ['null', 'null', -32_600],
    ['a text', '"tools/list"', -32_600],
    ['no version', { id: 1, method: 'tools/list' }, -32_600],
    ['another version', { jsonrpc: '1.0', id: 1, method: 'tools/list' }, -32_600],
    ['a method that is not text', { jsonrpc: '2.0', id: 1, method: 5 }, -32_600],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'tools/list' }, -32_600],
    ['params that are a text', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: 'x' }, -32_600],
  ])('Spec 2: a message is 400 with a JSON-RPC error: %s', async (_rule, message, code) => {
    const response = await send(message)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } })
  })

  it('a message nested more than 100 levels deep is 400, nested a hundred is not', async () => {
    const call = (depth: number): string =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"x":${'['.repeat(depth - 3)}${']'.repeat(depth - 3)}}}}`
    expect((await send(call(100))).status).toBe(200)
    for (const message of [call(101), call(1_000_000), '['.repeat(1_000_000)]) {
      const response = await send(message)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        error: { code: -32_600, message: expect.stringContaining('100 levels') },
      })
    }
  })

  it.each<[what: string, of: (count: number) => object]>([
    ['members', (count) => Object.fromEntries(Array.from({ length: count }, (_each, at) => [`k${at}`, 0]))],
    ['objects', (count) => Array.from({ length: count }, () => ({}))],
  ])('a message with 20,000 %s is served, with more it is 400', async (_what, of) => {
    // The message itself has some members.
    expect((await send({ ...listTools, params: { x: of(19_990) } })).status).toBe(200)
    const response = await send({ ...listTools, params: { x: of(20_001) } })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: -32_600, message: expect.stringContaining('more than 20000 members') } },
    ])
  })

  const calling = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } }
  it.each<[string, object, string]>([
    ['a second name', { ...calling, params: { name: 'whoami', Name: 'delete_note' } }, 'Name'],
    ['a name alone', { ...calling, params: { NAME: 'delete_note' } }, 'NAME'],
    ['a second method', { ...calling, METHOD: 'tools/list' }, 'METHOD'],
    ['second params', { ...calling, Params: { name: 'delete_note' } }, 'Params'],
    ['an address', { ...calling, method: 'resources/read', params: { uri: 'a:b', Uri: 'c:d' } }, 'Uri'],
    ['a task', { ...calling, method: 'tasks/get', params: { TaskId: '7' } }, 'TaskId'],
    ['a second task', { ...calling, method: 'tasks/get', params: { taskId: 'a', taskid: '7' } }, 'taskid'],
    [
      'tasks to hear of',
      { ...calling, method: 'subscriptions/listen', params: { notifications: { TaskIds: ['7'] } } },
      'TaskIds',
    ],
    [
      'a related task',
      { ...calling, params: { _meta: { 'io.modelcontextprotocol/related-task': { taskID: '7' } } } },
      'taskID',
    ],
    ['one of a batch', [calling, { ...calling, Method: 'x' }] as object, 'Method'],
    ['a long s', { ...calling, 'param\u017F': { name: 'delete_note' } }, 'param\u017F'],
    ['a long s within', { ...calling, params: { name: 'whoami', 'argument\u017F': {} } }, 'argument\u017F'],
  ])('a message with a member in another letter case is 400: %s', async (_what, message, name) => {
    const response = await send(JSON.stringify(message))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: -32_600, message: expect.stringContaining(`their own case: ${name}.`) },
    })
  })

  const asked = JSON.stringify(calling)
  it.each<[what: string, text: string, why: string]>([
    [
      'params twice',
      asked.replace('"params":', '"params":{"name":"delete_note"},$&'),
      'must not repeat a member',
    ],
    ['a name twice', asked.replace('"name":', '"name":"delete_note",$&'), 'must not repeat a member'],
    [
      'a name twice, once in escapes',
      asked.replace('"name":', '"n\\u0061me":"x",$&'),
      'must not repeat a member',
    ],
    ['a name of 201 characters', asked.replace('"name":"', '$&' + 'x'.repeat(201)), 'at most 200 characters'],
    ['a name with NUL', asked.replace('"name":"', '$&\\u0000'), 'without control characters'],
    [
      'the name of a prompt with NUL',
      asked.replace('tools/call', 'prompts/get').replace('"name":"', '$&\\u0000'),
      'without control characters',
    ],
    ['a name with a blank before it', asked.replace('"name":"', '$& '), 'without spaces at its ends'],
    ['a name that is a list', asked.replace(/"name":("[^"]*")/, '"name":[$1]'), 'A name must be a string'],
    ['a call without an id', asked.replace('"id":1,', ''), 'must have an id'],
    [
      'a batch of the same ids',
      `[${asked},{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
      'must have its own id',
    ],
    ['a batch in a batch', `[[${asked}]]`, 'batches are not supported'],
    ['an id that is null in a batch', `[${asked.replace('"id":1', '"id":null')}]`, 'id must be'],
    [
      'a batch of 101',
      `[${Array.from({ length: 101 }, (_each, id) => asked.replace('1', String(id))).join(',')}]`,
      '100',
    ],
  ])('a message that two parsers could read differently is 400: %s', async (_what, text, why) => {
    const response = await send(text)
    // A name is a parameter; everything else is about the form of the message.
    const code = /^(?:A name|at most 200|without)/.test(why) ? -32_602 : -32_600
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code, message: expect.stringContaining(why) } },
    ])
  })

  it('a message may have any members in its arguments', async () => {
    const message = { ...calling, params: { name: 'nothing', arguments: { Name: 1, name: 2, METHOD: 3 } } }
    expect((await send(JSON.stringify(message))).status).toBe(200)
  })

  it('a message over 4 MiB is 413, of another type 415', async () => {
    expect((await send(`{"jsonrpc":"2.0","pad":"${'x'.repeat(4_300_000)}"}`)).status).toBe(413)
    expect((await send(listTools, { 'content-type': 'text/plain' })).status).toBe(415)
  })

  it.each<[type: string, status: number]>([
    ['application/json; charset=utf-8', 200],
    ['Application/JSON;Charset="UTF-8";', 200],
    ...[
      'charset=utf-7',
      'charset="utf-16le"',
      'charset=utf-8; charset=utf-7',
      'charset=utf-8;charset=utf-8',
      "charset*=utf-8''utf-7",
      'charset=',
      'profile=x',
      'charset=utf-8, application/json; charset=utf-7',
    ].map((parameter): [string, number] => [`application/json; ${parameter}`, 415]),
    ['application/jsoncharset=utf-8', 415],
  ])('Spec 4: a message of the type %s is %i', async (type, status) => {
    expect((await send(listTools, { 'content-type': type })).status).toBe(status)
  })

  it.each(['GET', 'DELETE'])(
    'Spec 4, MCP transport Earlier-Revisions: %s is 405 for a signed-in caller',
    async (method) => {
      const response = await drawbridge.fetch('/mcp', { method, headers: { authorization } })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    },
  )

  it('a version header of 2026-07-28 is ignored on an older message', async () => {
    const response = await send(listTools, { 'mcp-protocol-version': '2026-07-28' })
    expect(await toolList(response)).toEqual(toolNames)
  })
})
