import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ToolModule } from '../../server/mcp/tools/tool-module.ts'
import { type DrawbridgeFixture, startDrawbridge } from '../support/server/drawbridge-fixture.ts'

const route: ToolModule = {
  tools: [
    {
      name: 'route',
      inputSchema: {
        type: 'object',
        properties: {
          region: { type: 'string', 'x-mcp-header': 'Region' },
          size: { type: 'integer', 'x-mcp-header': 'Size' },
        },
      },
      call: (input) => JSON.stringify(input),
    },
    {
      name: 'work',
      call: (_input, { progress, log }) => {
        progress(1)
        log('info', 'half of it')
        return 'done'
      },
    },
  ],
}

const version = 'io.modelcontextprotocol/protocolVersion'
const capabilities = 'io.modelcontextprotocol/clientCapabilities'
const meta = { [version]: '2026-07-28', [capabilities]: {} }

let drawbridge: DrawbridgeFixture
let authorization: string
beforeAll(async () => {
  drawbridge = await startDrawbridge({}, undefined, route)
  authorization = `Bearer ${(await drawbridge.connect()).tokens.access_token}`
  // Valid ones first: anything cached from them must not answer an invalid one.
  for (const sent of [list(), call(), { method: 'server/discover' }]) await modern(sent)
})
afterAll(() => drawbridge.close())

/** A request of a 2026-07-28 client. `changes` apply to its headers; undefined omits one. */
interface Sent {
  method: string
  params?: Record<string, unknown>
  headers?: Record<string, string | undefined>
}

function modern({ method, params = {}, headers = {} }: Sent): Promise<Response> {
  const { name } = params
  const all = {
    authorization,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...headers,
  }
  const sent = Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  return drawbridge.mcp({ jsonrpc: '2.0', id: 'seven', method, params: { _meta: meta, ...params } }, sent)
}

const call = (params: object = {}, headers: Sent['headers'] = {}): Sent => ({
  method: 'tools/call',
  params: { name: 'route', arguments: {}, ...params },
  headers,
})
const list = (headers: Sent['headers'] = {}): Sent => ({ method: 'tools/list', headers })
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe('Spec 2: a request of 2026-07-28 that is refused, with its own id', () => {
  it.each<[rule: string, sent: Sent, status?: number, code?: number]>([
    ['MCP transport Server-Validation: no version header', list({ 'mcp-protocol-version': undefined })],
    ['MCP transport Server-Validation: no Mcp-Method', list({ 'mcp-method': undefined })],
    ['MCP transport Server-Validation: another Mcp-Method', list({ 'mcp-method': 'tools/call' })],
    ['MCP transport Case-Sensitivity: the method in capitals', list({ 'mcp-method': 'TOOLS/LIST' })],
    ['MCP transport Server-Validation: no Mcp-Name', call({}, { 'mcp-name': undefined })],
    ['MCP transport Server-Validation: another Mcp-Name', call({}, { 'mcp-name': 'other' })],
    ['MCP transport Value-Encoding: another name, encoded', call({}, { 'mcp-name': encoded('other') })],
    ['MCP transport Value-Encoding: a name that is no base64', call({}, { 'mcp-name': '=?base64?%?=' })],
    [
      'MCP transport Protocol-Version-Header: another version than in the body',
      list({ 'mcp-protocol-version': '2025-11-25' }),
    ],
    ['MCP transport Custom-Headers: an argument without its header', call({ arguments: { region: 'eu' } })],
    [
      'MCP transport Custom-Headers: an argument and another header',
      call({ arguments: { region: 'eu' } }, { 'mcp-param-region': 'us' }),
    ],
    [
      'MCP transport Custom-Headers: a header that is not base64',
      call({ arguments: { region: 'eu' } }, { 'mcp-param-region': '=?base64?%?=' }),
    ],
    [
      'MCP transport Custom-Headers: another number',
      call({ arguments: { size: 42 } }, { 'mcp-param-size': '43' }),
    ],
    [
      'MCP transport Protocol-Version-Header: another version in the body than this one',
      { method: 'tools/list', params: { _meta: { ...meta, [version]: '2030-01-01' } } },
    ],
    ['MCP transport Protocol-Version-Header: an unknown method', { method: 'tools/forget' }, 404, -32_601],
    [
      'MCP transport Request-Metadata: no capabilities',
      { method: 'tools/list', params: { _meta: { [version]: '2026-07-28' } } },
      400,
      -32_602,
    ],
    ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'].map(
      (method): [string, Sent, number, number] => [
        `MCP transport Removed-Methods: ${method}`,
        { method },
        404,
        -32_601,
      ],
    ),
  ])('%s', async (_rule, sent, status = 400, code = -32_020) => {
    const response = await modern(sent)
    expect(response.headers.get('content-type')).toContain('application/json')
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: 'seven', error: { code } })
    expect(response.status).toBe(status)
  })

  it('MCP transport Protocol-Version-Header: an unknown version is answered with those that are known', async () => {
    const response = await modern({
      method: 'tools/list',
      params: { _meta: { ...meta, [version]: '2030-01-01' } },
      headers: { 'mcp-protocol-version': '2030-01-01' },
    })
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        id: 'seven',
        error: {
          code: -32_022,
          data: { requested: '2030-01-01', supported: expect.arrayContaining(['2026-07-28']) as string[] },
        },
      },
    ])
  })
})

describe('a request of 2026-07-28 that is served', () => {
  it.each<[rule: string, sent: Sent, text: string]>([
    ['MCP transport Custom-Headers: no argument, no header', call(), '{}'],
    [
      'MCP transport Value-Encoding: an encoded name is decoded first',
      call({}, { 'mcp-name': encoded('route') }),
      '{}',
    ],
    [
      'MCP transport Custom-Headers: header and argument agree',
      call({ arguments: { region: 'eu', size: 42 } }, { 'mcp-param-region': 'eu', 'mcp-param-size': '42' }),
      '{"region":"eu","size":42}',
    ],
    [
      'MCP transport Server-Validation: numbers are compared as numbers',
      call({ arguments: { size: 42 } }, { 'mcp-param-size': '42.0' }),
      '{"size":42}',
    ],
    [
      'MCP transport Value-Encoding: an encoded value is decoded first',
      call({ arguments: { region: 'zürich' } }, { 'mcp-param-region': encoded('zürich') }),
      '{"region":"zürich"}',
    ],
  ])('%s', async (_rule, sent, text) => {
    const response = await modern(sent)
    expect(await response.json()).toMatchObject({
      id: 'seven',
      result: { resultType: 'complete', content: [{ text }] },
    })
    expect(response.status).toBe(200)
  })

  it('MCP transport Earlier-Revisions: a session id is ignored, and none is given', async () => {
    const response = await modern(list({ 'mcp-session-id': 'theirs', 'last-event-id': '1' }))
    expect(response.status).toBe(200)
    expect(response.headers.get('mcp-session-id')).toBeNull()
  })

  it('MCP transport Discovery: names versions, capabilities and the server, for this caller alone', async () => {
    const response = await modern({ method: 'server/discover' })
    expect(await response.json()).toMatchObject({
      result: {
        resultType: 'complete',
        supportedVersions: expect.arrayContaining(['2026-07-28']) as string[],
        capabilities: { tools: {} },
        ttlMs: expect.any(Number) as number,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'drawbridge' } },
      },
    })
  })

  it('MCP transport Statelessness: reads who the client is from each request', async () => {
    const as = (requested: string): Promise<Response> =>
      modern({
        method: 'tools/list',
        params: { _meta: { ...meta, [version]: requested } },
        headers: { 'mcp-protocol-version': requested },
      })
    expect((await as('2026-07-28')).status).toBe(200)
    expect((await as('2030-01-01')).status).toBe(400)
    expect((await as('2026-07-28')).status).toBe(200)
  })

  it('MCP transport Tools: the list is the same, in the same order, for every request and user', async () => {
    const admin = drawbridge.admin
    await admin?.createUser({ email: 'eve@example.com', password: 'correct horse battery' })
    const browser = drawbridge.browser()
    const { client_id: clientId } = await drawbridge.register()
    const login = await browser.visit(drawbridge.authorizeUrl(clientId))
    const eve = { email: 'eve@example.com', password: 'correct horse battery' }
    const { url } = await browser.submit(login, 'password', eve)
    const redeemed = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')
    const { access_token: token } = (await redeemed.json()) as { access_token: string }
    const texts = await Promise.all(
      [list(), list(), list({ authorization: `Bearer ${token}` })].map(async (sent) =>
        (await modern(sent)).text(),
      ),
    )
    expect(new Set(texts).size).toBe(1)
  })
})

describe('a notification', () => {
  it.each([
    ['notifications/initialized', {}],
    ['notifications/cancelled', { requestId: 1 }],
  ])('MCP transport Sending-Messages: %s is 202 without a body', async (method, params) => {
    const response = await drawbridge.mcp({ jsonrpc: '2.0', method, params }, { authorization })
    expect([response.status, await response.text()]).toEqual([202, ''])
  })
})

describe('an answer that streams', () => {
  const work = (more: object = {}): Promise<Response> =>
    modern(call({ name: 'work', _meta: { ...meta, progressToken: 1, ...more } }))
  const messagesOf = async (response: Response): Promise<Record<string, unknown>[]> =>
    [...(await response.text()).matchAll(/^data: (.+)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as Record<string, unknown>,
    )

  it('MCP transport Receiving-Messages, Spec 4: holds notifications of this request, and ends with its response', async () => {
    const response = await work()
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const messages = await messagesOf(response)
    expect(messages).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 1 } },
      { id: 'seven', result: { resultType: 'complete', content: [{ text: 'done' }] } },
    ])
  })

  it('MCP transport Logging: holds log messages for a request that asks for them alone', async () => {
    const messages = await messagesOf(await work({ 'io.modelcontextprotocol/logLevel': 'info' }))
    expect(messages.map(({ method }) => method)).toEqual([
      'notifications/progress',
      'notifications/message',
      undefined,
    ])
  })

  it('MCP transport Receiving-Messages: asks proxies not to hold it back', async () => {
    const response = await work()
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    await response.text()
  })
})
