import { describe, expect, it, test } from 'vitest'
import {
  createMemoryBrowser,
  type MemoryBrowser,
  type MemoryResponse,
} from '../../../tests/support/extension/platform/memory-browser.ts'
import { testEndpoint } from './endpoint-test.ts'
import type { EndpointRequest } from '../ports.ts'
import { jwt } from '../../../tests/support/extension/core/session-fixture.ts'

const token = jwt()
const baseUrl = 'https://mcp.example.com'
const allowed = (): Set<string> => new Set(['https://mcp.example.com/*', 'http://mcp.example.com/*'])

interface Call {
  method: string
  id?: number
  params?: { cursor?: string; _meta?: object; protocolVersion?: string }
}
type Answer = MemoryResponse | { result: unknown } | { error: object } | undefined

const callOf = (request: EndpointRequest): Call => JSON.parse(request.body ?? '{"method":"DELETE"}') as Call

/** A browser with permission whose network is a single server. */
function browserWith(
  serve: (call: Call, request: EndpointRequest) => Answer,
  { asksInTab = false } = {},
): MemoryBrowser {
  const respond = (request: EndpointRequest): MemoryResponse | undefined => {
    const call = callOf(request)
    const answer = serve(call, request)
    if (answer === undefined || 'status' in answer) return answer
    return json({ jsonrpc: '2.0', id: call.id, ...answer })
  }
  return createMemoryBrowser({ respond, allowed: allowed(), asksInTab })
}

const json = (message: object, headers: Record<string, string> = {}): MemoryResponse => {
  return {
    status: 200,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(message),
  }
}
const opened = {
  result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'Notes', version: '1' } },
}
const tools = (...names: string[]): { result: object } => {
  return { result: { tools: names.map((name) => ({ name, inputSchema: {} })) } }
}
const accepted = { status: 202 }

function legacyServer(call: Call): Answer {
  if (call.method === 'initialize') return opened
  if (call.method === 'notifications/initialized') return accepted
  return call.method === 'tools/list' ? tools('list_notes', 'add_note') : { status: 404 }
}

describe('a server of 2025-11-25', () => {
  it('the connection test lists the tools of a 2025-11-25 server', async () => {
    const browser = browserWith((call) => {
      if (call.method === 'tools/list') browser.world.now += 0.042
      return legacyServer(call)
    })
    expect(await testEndpoint(browser, baseUrl, token)).toEqual({
      kind: 'passed',
      server: 'Notes',
      tools: ['list_notes', 'add_note'],
      milliseconds: 42,
    })
    const { requests } = browser.world
    expect(requests.map((request) => callOf(request).method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/list',
    ])
    for (const request of requests) {
      expect(request).toMatchObject({ url: 'https://mcp.example.com/mcp', method: 'POST' })
      expect(request.headers).toMatchObject({
        Authorization: `Bearer ${token}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
      })
    }
    expect(callOf(requests[0] as EndpointRequest).params?.protocolVersion).toBe('2025-11-25')
    expect(requests[0]?.headers['MCP-Protocol-Version']).toBeUndefined()
    expect(requests[2]?.headers['MCP-Protocol-Version']).toBe('2025-11-25')
  })

  it('the connection test keeps session and revision of a 2025-11-25 server, and ends the session', async () => {
    const browser = browserWith((call, request) => {
      if (request.method === 'DELETE') return { status: 200 }
      if (call.method !== 'initialize') return legacyServer(call)
      const result = { ...opened.result, protocolVersion: '2025-03-26' }
      return json({ jsonrpc: '2.0', id: call.id, result }, { 'mcp-session-id': 'session-1' })
    })
    expect((await testEndpoint(browser, baseUrl, token)).kind).toBe('passed')
    const { requests } = browser.world
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'POST', 'DELETE'])
    for (const { headers } of requests.slice(1)) {
      expect(headers).toMatchObject({ 'Mcp-Session-Id': 'session-1', 'MCP-Protocol-Version': '2025-03-26' })
    }
  })

  it('the connection test accepts a server that refuses to end its session', async () => {
    const browser = browserWith((call, request) => {
      if (request.method === 'DELETE') return undefined
      if (call.method !== 'initialize') return legacyServer(call)
      return json({ jsonrpc: '2.0', id: call.id, ...opened }, { 'mcp-session-id': 'session-1' })
    })
    expect((await testEndpoint(browser, baseUrl, token)).kind).toBe('passed')
  })

  it('the connection test survives a revision that cannot be a header value', async () => {
    const result = { ...opened.result, protocolVersion: 'x\r\ny' }
    const browser = browserWith((call) => (call.method === 'initialize' ? { result } : legacyServer(call)))
    expect((await testEndpoint(browser, baseUrl, token)).kind).toBe('passed')
    expect(browser.world.requests[2]?.headers['MCP-Protocol-Version']).toBe('2025-11-25')
  })

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('the connection test reads an event stream with lines ended by %s', async (_case, end) => {
    const browser = browserWith((call) => {
      const answer = legacyServer(call)
      if (answer === undefined || 'status' in answer) return answer
      const ping = { jsonrpc: '2.0', id: 'other', method: 'ping' }
      const text = JSON.stringify({ jsonrpc: '2.0', id: call.id, ...answer }, undefined, 1)
      const lines = [': hello', 'id: 0', 'data:', '', `data: ${JSON.stringify(ping)}`, '', 'event: message']
      const body = [...lines, ...text.split('\n').map((line) => `data: ${line}`), '', ''].join(end)
      return { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body }
    })
    expect(await testEndpoint(browser, baseUrl, token)).toMatchObject({ tools: ['list_notes', 'add_note'] })
  })

  it('the connection test reads several pages of tools, up to a limit', async () => {
    const paged = (last: number): MemoryBrowser => {
      return browserWith((call) => {
        if (call.method !== 'tools/list') return legacyServer(call)
        const page = Number(call.params?.cursor ?? 0)
        const more = page < last ? { nextCursor: String(page + 1) } : {}
        return { result: { tools: [{ name: `tool${page}` }], ...more } }
      })
    }
    expect(await testEndpoint(paged(2), baseUrl, token)).toMatchObject({ tools: ['tool0', 'tool1', 'tool2'] })
    const endless = paged(Infinity)
    expect(await testEndpoint(endless, baseUrl, token)).toMatchObject({ kind: 'passed' })
    expect(endless.world.requests.length).toBeLessThan(15)
  })
})

describe('a server of 2026-07-28', () => {
  const unsupported = { error: { code: -32_022, message: 'Unsupported protocol version', data: {} } }

  it('the connection test asks a 2026-07-28 server in its own way, and shows its name', async () => {
    const serverInfo = { 'io.modelcontextprotocol/serverInfo': { name: 'Modern', version: '2' } }
    const browser = browserWith((call, { headers }) => {
      if (call.params?._meta === undefined) return { status: 400, body: JSON.stringify(unsupported) }
      expect(headers).toMatchObject({ 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list' })
      expect(call.params._meta).toMatchObject({
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      })
      return { result: { tools: [{ name: 'a' }], _meta: serverInfo, resultType: 'complete' } }
    })
    expect(await testEndpoint(browser, baseUrl, token)).toMatchObject({
      kind: 'passed',
      server: 'Modern',
      tools: ['a'],
    })
    expect(browser.world.requests).toHaveLength(2)
  })

  test.each([400, 404, 405, 200])(
    'the connection test tries 2026-07-28 after status %d for initialize',
    async (status) => {
      const browser = browserWith((call) => {
        return call.method === 'initialize' ? { status, body: JSON.stringify(unsupported) } : tools('a')
      })
      expect(await testEndpoint(browser, baseUrl, token)).toMatchObject({ kind: 'passed', server: undefined })
    },
  )
})

const challenge =
  'Basic realm="x", Bearer resource_metadata="https://a.example", error="invalid_token", error_description="It ended."'
const reason = { error: 'invalid_token', description: 'It ended.' }

test.each([
  [401, 'a challenge', { 'www-authenticate': challenge }, reason],
  [403, 'a challenge', { 'www-authenticate': challenge }, reason],
  [401, 'none, or one that CORS hides', {}, { error: undefined, description: undefined }],
])('the connection test reports a refusal with %d and %s', async (status, _what, headers, facts) => {
  const browser = browserWith(() => ({ status, headers }))
  expect(await testEndpoint(browser, baseUrl, token)).toEqual({ kind: 'refused', status, ...facts })
  expect(browser.world.requests).toHaveLength(1)
})

it('the connection test reports the refusal of tools/list alone, as for a missing scope', async () => {
  const headers = { 'www-authenticate': 'Bearer error="insufficient_scope"' }
  const browser = browserWith((call) =>
    call.method === 'tools/list' ? { status: 403, headers } : legacyServer(call),
  )
  expect(await testEndpoint(browser, baseUrl, token)).toMatchObject({
    kind: 'refused',
    error: 'insufficient_scope',
  })
})

it('the connection test shows a refusal as one shortened line without the token', async () => {
  const description = `\u202E${token} ${token.slice(5)} <b>${'x'.repeat(1000)}`
  const headers = { 'www-authenticate': `Bearer error="e", error_description="${description}"` }
  const result = await testEndpoint(
    browserWith(() => ({ status: 401, headers })),
    baseUrl,
    token,
  )
  const text = result.kind === 'refused' ? String(result.description) : ''
  expect(text.startsWith('\uFFFD… ')).toBe(true)
  expect(text).toHaveLength(501)
})

describe('an endpoint that does not speak MCP', () => {
  test.each<[string, Answer, status?: number, detail?: string]>([
    ['a page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>App</h1>' }],
    ['no page', { status: 404, body: 'not found' }, 404],
    ['a server error', { status: 502 }, 502],
    ['an error', { error: { code: -32_603, message: 'Internal error' } }, 200, 'Internal error'],
    ['an error that is none', { error: { code: 1, message: { a: 1 } } }],
    ['a result that is none', { result: 5 }],
    ['tools that are none', { result: { tools: {} } }],
    ['an answer to something else', { status: 200, body: '{"jsonrpc":"2.0","id":77,"result":{"tools":[]}}' }],
    ['a list', { status: 200, body: '[]' }],
    ['endless brackets', { status: 200, body: '['.repeat(200_000) }],
  ])('the connection test reports as not MCP: %s', async (_case, answer, status = 200, detail) => {
    const browser = browserWith(() => answer)
    expect(await testEndpoint(browser, baseUrl, token)).toEqual({ kind: 'not-mcp', status, detail })
  })

  it('the connection test survives tools of every shape, up to a limit', async () => {
    const odd = [
      null,
      5,
      'a',
      [],
      {},
      { name: 5 },
      { name: '<b>' },
      JSON.parse('{"__proto__":{"name":"x"}}') as object,
    ]
    const many = Array.from({ length: 3000 }, () => ({ name: 'n'.repeat(5000) }))
    const list = [...odd, ...many]
    const browser = browserWith((call) =>
      call.method === 'tools/list' ? { result: { tools: list } } : legacyServer(call),
    )
    const result = await testEndpoint(browser, baseUrl, token)
    expect(result.kind === 'passed' && result.tools.length).toBe(500)
    expect(result.kind === 'passed' && result.tools[0]).toBe('<b>')
    expect(JSON.stringify(result).length).toBeLessThan(500 * 140)
  })
})

describe('the receiver of the token', () => {
  test.each(['http://mcp.example.com', 'http://192.168.0.9:8787', 'ftp://localhost', 'no url', ''])(
    'the connection test sends the token not to %s',
    async (url) => {
      const browser = browserWith(legacyServer)
      expect((await testEndpoint(browser, url, token)).kind).toBe('unreachable')
      expect(browser.world.requests).toEqual([])
    },
  )

  test.each(['http://localhost:8787', 'http://127.0.0.1:8787', 'https://example.com/tools'])(
    'the connection test sends the token to %s',
    async (url) => {
      const browser = browserWith(legacyServer)
      expect((await testEndpoint(browser, url, token)).kind).toBe('passed')
      expect(new Set(browser.world.requests.map((request) => request.url))).toEqual(new Set([`${url}/mcp`]))
    },
  )
})

describe('no answer', () => {
  it('the connection test tells a server that needs permission from an unreachable one', async () => {
    const browser = createMemoryBrowser()
    expect(await testEndpoint(browser, baseUrl, token)).toEqual({
      kind: 'no-permission',
      host: 'mcp.example.com',
    })
    browser.world.allowed = allowed()
    expect(await testEndpoint(browser, baseUrl, token)).toEqual({
      kind: 'unreachable',
      host: 'mcp.example.com',
    })
  })

  it('in Firefox the connection test needs the permission, which is also the consent, before anything is sent', async () => {
    const browser = browserWith(legacyServer, { asksInTab: true })
    expect((await testEndpoint(browser, baseUrl, token)).kind).toBe('no-permission')
    expect(browser.world.requests).toEqual([])
    browser.world.mayTest = true
    expect((await testEndpoint(browser, baseUrl, token)).kind).toBe('passed')
  })

  it('the connection test reports an answer that breaks off as unreachable', async () => {
    const browser = browserWith((call) => (call.method === 'initialize' ? opened : undefined))
    expect(await testEndpoint(browser, baseUrl, token)).toEqual({
      kind: 'unreachable',
      host: 'mcp.example.com',
    })
  })
})
