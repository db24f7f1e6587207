import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import {
  appUrl,
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import {
  initialize,
  message2026,
  notification,
  request,
  toolCall,
} from '../../../tests/support/server/mcp/mcp-message.ts'
import type { Settings } from '../../config/setting-table.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'

let drawbridge: DrawbridgeFixture
let ran: unknown[]

const module: ToolModule = {
  scopes: { 'notes:write': 'Change your notes' },
  tools: [
    {
      name: 'search',
      public: true,
      _meta: { ui: { resourceUri: 'ui://search' } },
      call(_input, { user, credential, providerToken }) {
        ran.push(user?.sub)
        return user ? 'For you.' : `For anybody, by ${credential}, ${thrownBy(providerToken)}.`
      },
    },
    { name: 'hello', call: () => note('hello') },
    { name: 'write', scope: 'notes:write', call: () => note('write') },
  ],
}

function note(name: string): string {
  ran.push(name)
  return name
}

function thrownBy(run: () => unknown): string {
  try {
    return String(run())
  } catch (error) {
    return error instanceof Error ? error.name : ''
  }
}

async function start(settings: Settings = {}, more: Partial<ToolModule> = {}): Promise<void> {
  drawbridge = await startDrawbridge(settings, undefined, { ...module, ...more })
}

beforeEach(() => {
  ran = []
})

const call = (name: string, id = 1): object => toolCall(name, {}, id)

/** Sends a message of 2026-07-28. */
function modern(method: string, params: { name?: string } = {}): Promise<Response> {
  const { message, headers } = message2026(method, params)
  return drawbridge.mcp(message, headers)
}

/** Sends a message from an address. */
function sendFrom(address: string, message: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  const sent = new Request(`${baseUrl}/mcp`, { method: 'POST', headers, body: JSON.stringify(message) })
  return drawbridge.app.fetch(sent, { address })
}

interface ToolsAnswer {
  result: { tools: { name: string; securitySchemes?: object[]; _meta?: Record<string, unknown> }[] }
}

describe('without a credential, where a tool is public', () => {
  beforeAll(() => start({ callLimit: 'off' }))
  afterAll(() => drawbridge.close())

  it.each<[string, object]>([
    ['initialize', initialize()],
    ['a notification', notification('notifications/initialized')],
    ['ping', request('ping')],
    ['tools/list', request('tools/list')],
    ['a call of the public tool', call('search')],
    ['a batch of what is open', [request('ping'), call('search', 2)]],
  ])('without a credential, %s is served if a tool is public', async (_title, message) => {
    const response = await drawbridge.mcp(message)
    expect(response.ok).toBe(true)
    expect(await response.text()).not.toContain('"error"')
  })

  it.each(['server/discover', 'tools/list', 'tools/call'])(
    'without a credential, %s of 2026-07-28 is served if a tool is public',
    async (method) => {
      const response = await modern(method, method === 'tools/call' ? { name: 'search' } : {})
      expect([response.status, await response.text()]).toEqual([200, expect.not.stringContaining('"error"')])
    },
  )

  it('a public tool called without a credential has no user and no token', async () => {
    expect(await (await drawbridge.mcp(call('search'))).text()).toContain(
      'For anybody, by none, SignInNeededError.',
    )
  })

  it.each<[string, object, scope: string]>([
    ['a call of another tool', call('hello'), 'mcp'],
    ['a call of a tool with a scope', call('write'), 'mcp notes:write'],
    ['a call of no tool', call('searches'), 'mcp'],
    ['a call without a name', request('tools/call'), 'mcp'],
    ['a batch with one such call', [call('search'), call('write', 2)], 'mcp notes:write'],
    ['a batch in a batch', [[call('search')]], 'mcp'],
    ['a batch of the same ids', [request('tools/list'), request('ping')], 'mcp'],
    ['an empty batch', [], 'mcp'],
    ['subscriptions/listen', request('subscriptions/listen', { notifications: {} }), 'mcp'],
    ['logging/setLevel', request('logging/setLevel', { level: 'debug' }), 'mcp'],
    ['an answer', { jsonrpc: '2.0', id: 1, result: {} }, 'mcp'],
    ['another method', request('resources/list'), 'mcp'],
    ['what is no message', { hello: 'there' }, 'mcp'],
    ['a name in other letters', request('tools/call', { name: 'search', Name: 'write' }), 'mcp'],
  ])(
    'without a credential, %s is 401 with a challenge that names the scopes, and no tool runs',
    async (_title, message, scope) => {
      const response = await drawbridge.mcp(message)
      expect([response.status, ran]).toEqual([401, []])
      const challenge = response.headers.get('www-authenticate') ?? ''
      expect(challenge).toContain(`scope="${scope}"`)
      expect(challenge).toContain('resource_metadata=')
      expect(challenge).not.toContain('error=')
    },
  )

  it.each<[string, message: unknown, headers?: Record<string, string>]>([
    ['what is not JSON', '{'],
    ['another media type', request('ping'), { 'content-type': 'text/plain' }],
    ['too long a message', request('ping', { padding: 'x'.repeat(300_000) })],
  ])('without a credential, %s is 401 like every other request', async (_title, message, headers) => {
    expect((await drawbridge.mcp(message, headers)).status).toBe(401)
  })

  it.each(['GET', 'DELETE'])(
    'without a credential, a %s is 405: a client that looks for a stream need not sign in',
    async (method) => {
      const response = await drawbridge.fetch('/mcp', { method, headers: { accept: 'text/event-stream' } })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    },
  )

  it.each(['Bearer nobody', 'Basic YTpi', 'Bearer'])(
    'a bad credential is 401 even if a tool is public: %s',
    async (authorization) => {
      for (const message of [initialize(), request('tools/list'), call('search')]) {
        expect((await drawbridge.mcp(message, { authorization })).status).toBe(401)
      }
      expect(ran).toEqual([])
    },
  )

  it.each<[string, RequestInit]>([
    ['initialize', { method: 'POST', body: JSON.stringify(initialize()) }],
    ['a call of the public tool', { method: 'POST', body: JSON.stringify(call('search')) }],
    ['a look for a stream', { method: 'GET' }],
  ])(
    'without a credential, %s at /mcp?sign-in is challenged, for the same resource',
    async (_title, init) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      const response = await drawbridge.fetch('/mcp?sign-in', { ...init, headers })
      expect([response.status, ran]).toEqual([401, []])
      const challenge = response.headers.get('www-authenticate') ?? ''
      expect(challenge).toContain('scope="mcp"')
      expect(challenge).toContain(`resource_metadata="${baseUrl}/.well-known/oauth-protected-resource/mcp"`)
    },
  )

  it('rules about origins and cookies apply without a credential, too', async () => {
    expect((await drawbridge.mcp(call('search'), { origin: 'https://evil.example' })).status).toBe(403)
    const cookie = 'sb-localhost-auth-token=base64-e30'
    const origin = 'http://localhost:3000'
    expect((await drawbridge.mcp(call('search'), { cookie, origin })).status).toBe(403)
    expect((await drawbridge.mcp(call('search'), { cookie, origin: appUrl })).status).toBe(401)
    expect(ran).toEqual([])
  })

  it('the list has the security schemes of each tool, at both places, and keeps those of the module', async () => {
    for (const response of [await drawbridge.mcp(request('tools/list')), await modern('tools/list')]) {
      const { tools } = ((await response.json()) as ToolsAnswer).result
      const schemes = {
        search: [{ type: 'noauth' }, { type: 'oauth2', scopes: ['mcp'] }],
        hello: [{ type: 'oauth2', scopes: ['mcp'] }],
        write: [{ type: 'oauth2', scopes: ['mcp', 'notes:write'] }],
      }
      expect(Object.fromEntries(tools.map((tool) => [tool.name, tool.securitySchemes]))).toEqual(schemes)
      expect(Object.fromEntries(tools.map(({ name, _meta }) => [name, _meta?.['securitySchemes']]))).toEqual(
        schemes,
      )
      expect(tools[0]?._meta?.['ui']).toEqual({ resourceUri: 'ui://search' })
    }
  })

  it('the instructions name the public tools', async () => {
    const response = await drawbridge.mcp(initialize())
    expect(await response.text()).toContain('These tools need no sign-in: search.')
  })

  it('a public tool is called by a signed-in user as that user', async () => {
    const { tokens } = await drawbridge.connect()
    expect((await drawbridge.callTool(tokens.access_token, 'search')).text).toBe('For you.')
    expect(ran).toEqual([expect.any(String)])
  })

  it('a call without a credential is recorded without a user', async () => {
    await drawbridge.mcp(call('search'))
    const record = drawbridge.events('tool_called').at(-1)
    expect(record).toMatchObject({ tool: 'search', credential: 'none', outcome: 'ok' })
    expect(record).not.toHaveProperty('sub')
  })
})

describe('a server of its own', () => {
  afterEach(() => drawbridge.close())

  it('public tools limit each address separately, without using up the limits of users', async () => {
    await start({ callLimit: '3/m' })
    const { tokens } = await drawbridge.connect()
    const statuses = []
    for (const message of [initialize(), request('tools/list'), call('search'), call('search')]) {
      statuses.push((await sendFrom('203.0.113.7', message)).status)
    }
    expect((await sendFrom('203.0.113.8', call('search'))).status).toBe(200)
    expect(statuses).toEqual([200, 200, 200, 429])
    expect((await drawbridge.callTool(tokens.access_token, 'search')).text).toBe('For you.')
  })

  const everybodyOf = { allow: { email: ['*@example.com'] } }
  const registers: Partial<ToolModule> = {
    register: (server) => void server.registerTool('registered', {}, () => ({ content: [] })),
  }
  const onlyPublic = { tools: module.tools?.slice(0, 1) ?? [] }
  const ownSignIn = [
    { ...module.tools![0]!, name: 'sign_in' },
    { name: 'hello', call: () => note('hello') },
  ]
  const startWithRules = async (rules: readonly object[], more: Partial<ToolModule> = {}): Promise<void> => {
    const access = join(temporaryFolder(), 'access.json')
    writeFileSync(access, JSON.stringify({ rules }))
    await start({ access }, more)
  }
  const namesIn = async (response: Response): Promise<string[]> =>
    ((await response.json()) as ToolsAnswer).result.tools.map(({ name }) => name)

  it.each<[what: string, rules: object[], more: Partial<ToolModule>, names: string[]]>([
    ['that may let somebody see more', [everybodyOf], {}, ['search', 'sign_in']],
    ['and what a module registers', [everybodyOf], registers, ['search', 'sign_in']],
    [
      'beside what a module registers for those who have signed in',
      [everybodyOf],
      {
        ...onlyPublic,
        register: (server, { user }) =>
          void server.registerTool(`of ${user.sub}`, {}, () => ({ content: [] })),
      },
      ['search', 'sign_in'],
    ],
    ['that let nobody in', [{ deny: {} }, everybodyOf], {}, ['search']],
    [
      'that leave everybody the public tool alone',
      [{ ...everybodyOf, tools: { allow: ['search'] } }],
      {},
      ['search'],
    ],
    ['where all tools are public', [everybodyOf], onlyPublic, ['search']],
    ['where a public tool has that name', [everybodyOf], { tools: ownSignIn }, ['sign_in']],
  ])(
    'with access rules %s, an anonymous caller finds the public tools and, if it helps, sign_in',
    async (_, rules, more, names) => {
      await startWithRules(rules, more)
      expect(await namesIn(await drawbridge.mcp(request('tools/list')))).toEqual(names)
      expect(await namesIn(await modern('tools/list'))).toEqual(names)
    },
  )

  it.each<[what: string, more: Partial<ToolModule>]>([
    ['plain tools', {}],
    ['what a module registers', registers],
  ])(
    'with access rules, a call of sign_in is the challenge, and afterwards says what comes next: %s',
    async (_, more) => {
      await startWithRules([everybodyOf], more)
      for (const refused of [
        await drawbridge.mcp(call('sign_in')),
        await modern('tools/call', { name: 'sign_in' }),
      ]) {
        expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
          401,
          expect.stringContaining('scope="mcp"'),
        ])
      }
      const { tokens } = await drawbridge.connect()
      const authorization = `Bearer ${tokens.access_token}`
      expect(await namesIn(await drawbridge.mcp(request('tools/list'), { authorization }))).not.toContain(
        'sign_in',
      )
      const { message, headers } = message2026('tools/call', { name: 'sign_in' })
      for (const answer of [
        await drawbridge.mcp(call('sign_in', 7), { authorization }),
        await drawbridge.mcp({ ...(message as object), id: 7 }, { ...headers, authorization }),
      ]) {
        expect(answer.status).toBe(200)
        expect(await answer.json()).toEqual({
          jsonrpc: '2.0',
          id: 7,
          result: {
            resultType: 'complete',
            content: [{ type: 'text', text: expect.stringMatching(/signed in.*List the tools/) as string }],
          },
        })
      }
      expect(drawbridge.events('tool_called')).toEqual([])
    },
  )

  it('a tool of the module that is called sign_in is called as such by callers who have signed in', async () => {
    await startWithRules([everybodyOf], {
      tools: [...(module.tools ?? []), { name: 'sign_in', call: () => note('own') }],
    })
    expect(await namesIn(await drawbridge.mcp(request('tools/list')))).toEqual(['search', 'sign_in'])
    expect((await drawbridge.mcp(call('sign_in'))).status).toBe(401)
    const { tokens } = await drawbridge.connect()
    expect((await drawbridge.callTool(tokens.access_token, 'sign_in')).text).toBe('own')
  })

  it('anonymous clients find, beside registered tools, the public ones, and those registered without a look at the user', async () => {
    await start(
      {},
      {
        register(server, context) {
          server.registerTool('registered', {}, () => ({
            content: [{ type: 'text', text: context.user.sub }],
          }))
          server.registerTool(`of ${context.user.sub}`, {}, () => ({ content: [] }))
        },
      },
    )
    for (const response of [await drawbridge.mcp(request('tools/list')), await modern('tools/list')]) {
      expect(response.status).toBe(200)
      const { tools } = ((await response.json()) as ToolsAnswer).result
      expect(tools.map(({ name }) => name)).toEqual(['search', 'hello', 'write', 'registered'])
      expect(tools.at(-1)?.securitySchemes).toEqual([{ type: 'oauth2', scopes: ['mcp'] }])
    }
    expect(await (await drawbridge.mcp(call('search'))).text()).toContain('For anybody')
    expect((await drawbridge.mcp(call('registered'))).status).toBe(401)
    expect((await modern('tools/call', { name: 'search' })).status).toBe(200)
    const { tokens } = await drawbridge.connect()
    expect((await drawbridge.callTool(tokens.access_token, 'registered')).text).not.toBe('')
  })

  it('if no tool is public, everything without a credential is 401, and the list has no security schemes', async () => {
    await start({}, { tools: module.tools?.filter(({ name }) => name === 'hello') ?? [] })
    for (const message of [initialize(), request('tools/list'), call('hello')])
      expect((await drawbridge.mcp(message)).status).toBe(401)
    const stream = await drawbridge.fetch('/mcp', { headers: { accept: 'text/event-stream' } })
    expect(stream.status).toBe(401)
    const { tokens } = await drawbridge.connect()
    const authorization = `Bearer ${tokens.access_token}`
    const listed = await drawbridge.mcp(request('tools/list'), { authorization })
    expect(await listed.text()).not.toContain('securitySchemes')
  })
})
