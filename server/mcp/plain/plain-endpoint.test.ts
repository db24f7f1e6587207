import { toResponse } from '@drawbridge/shared/text-response.ts'
import { afterAll, describe, expect, it } from 'vitest'
import {
  callerSample,
  callsSample,
  endpointConfigSample,
} from '../../../tests/support/server/mcp/tool-fixture.ts'
import { createPlainEndpoint } from './plain-endpoint.ts'
import type { McpEndpoint } from '../endpoint-config.ts'
import { createSdkEndpoint } from '../sdk/sdk-endpoint.ts'
import type { ToolModule } from '../tools/tool-module.ts'

/** Tools with every kind of answer, and with arguments in headers. */
const module: ToolModule = {
  tools: [
    { name: 'hello', title: 'Hello', description: 'Says “Grüezi”.', call: () => 'Hello.' },
    {
      name: 'route',
      inputSchema: {
        type: 'object',
        properties: {
          region: { type: 'string', 'x-mcp-header': 'Region' },
          deep: { type: 'object', properties: { size: { type: 'integer', 'x-mcp-header': 'Size' } } },
          flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
        },
      },
      call: (input) => JSON.stringify(input),
    },
    {
      name: 'count',
      inputSchema: { type: 'object', properties: { to: { type: 'integer', minimum: 0 } }, required: ['to'] },
      outputSchema: { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] },
      annotations: { readOnlyHint: true },
      call: (input) => {
        const { to } = input as { to: number }
        return { structuredContent: { sum: (to * (to + 1)) / 2 }, _meta: { 'example.com/steps': to } }
      },
    },
    {
      name: 'steps',
      async call(_input, { log, progress }) {
        progress(1)
        log('info', 'one')
        await Promise.resolve()
        progress(2, 2, 'two')
        log('warning', { two: 2 })
        return 'Done.'
      },
    },
    {
      name: 'picture',
      call: () => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }], isError: false }),
    },
  ],
}

const pv = 'io.modelcontextprotocol/protocolVersion'
const capabilities = 'io.modelcontextprotocol/clientCapabilities'
const clientInfo = 'io.modelcontextprotocol/clientInfo'
const logLevel = 'io.modelcontextprotocol/logLevel'
const meta2026 = { [pv]: '2026-07-28', [capabilities]: {} }
const meta = { ...meta2026, [clientInfo]: { name: 'c', version: '1' } }
const both = 'application/json, text/event-stream'

interface Sent {
  name: string
  headers: Record<string, string>
  body: unknown
}

const bodies: [string, unknown][] = []
const message = (name: string, method: unknown, params?: unknown, more: object = {}): void => {
  bodies.push([name, { jsonrpc: '2.0', id: 7, method, ...(params !== undefined && { params }), ...more }])
}

/** Parameters and further members of one request. */
const forms: Record<string, [params?: unknown, more?: object]> = {
  'without params': [],
  'with empty params': [{}],
  'with a cursor': [{ cursor: 'c' }],
  'with metadata': [{ _meta: { 'example.com/a': 1 } }],
  'with a reserved key of no meaning': [{ _meta: { 'io.modelcontextprotocol/a': 1 } }],
  'with the envelope of 2026-07-28': [{ _meta: meta }],
  'with the smallest envelope': [{ _meta: meta2026 }],
  'with an unknown revision': [{ _meta: { ...meta, [pv]: '2031-01-01' } }],
  'without capabilities': [{ _meta: { [pv]: '2026-07-28' } }],
  'with a log level': [{ _meta: { ...meta, [logLevel]: 'info' } }],
  'with a text as id': [{ _meta: meta }, { id: 'ä"b' }],
  'with a huge id': [undefined, { id: 2 ** 60 }],
  'with a member too many': [undefined, { extra: 1 }],
}
const methods = ['ping', 'tools/list', 'server/discover', 'initialize', 'tools/call', 'resources/list', 'x/y']
for (const method of methods)
  for (const [what, form] of Object.entries(forms)) message(`${method} ${what}`, method, ...form)
const calls: [string, unknown][] = [
  ['hello', {}],
  ['hello', undefined],
  ['hello', { more: 1 }],
  ['hello', 'text'],
  ['hello', []],
  ['count', { to: 3 }],
  ['count', { to: -1 }],
  ['count', {}],
  ['picture', {}],
  ['route', { region: 'eu' }],
  ['route', { region: 'zürich' }],
  ['route', { deep: { size: 42 }, flag: true }],
  ['route', { region: null }],
  ['route', {}],
  ['nothing', {}],
  ['__proto__', {}],
]
for (const [name, input] of calls) {
  for (const [what, more] of Object.entries({
    earlier: {},
    '2026-07-28': { _meta: meta },
    '2026-07-28, retried': { _meta: meta, inputResponses: {}, requestState: 's' },
    'with a task': { task: { ttl: 1 } },
    'with plain metadata': { _meta: { a: 1 } },
  })) {
    message(`call of ${name} with ${JSON.stringify(input)}, ${what}`, 'tools/call', {
      name,
      arguments: input,
      ...more,
    })
  }
}
const steps = { name: 'steps', arguments: {} }
for (const progressToken of [1, 'p']) {
  message(`a call with the progress token ${progressToken}`, 'tools/call', {
    ...steps,
    _meta: { progressToken },
  })
  message(`a list with the progress token ${progressToken}`, 'tools/list', { _meta: { progressToken } })
  const _meta = { ...meta, progressToken }
  message(`a call with the progress token ${progressToken} at 2026-07-28`, 'tools/call', { ...steps, _meta })
}
for (const level of ['debug', 'info', 'warning', 'emergency']) {
  const _meta = { ...meta, [logLevel]: level }
  message(`a call with the log level ${level}`, 'tools/call', { ...steps, _meta })
  const both = { ..._meta, progressToken: 'p' }
  message(`a call with the log level ${level} and progress`, 'tools/call', { ...steps, _meta: both })
}
message('a call with a state of an earlier revision', 'tools/call', { name: 'hello', requestState: 's' })
message('a subscription to nothing', 'subscriptions/listen', { notifications: {}, _meta: meta })
message('a subscription to what is not offered', 'subscriptions/listen', {
  notifications: { promptsListChanged: true, resourceSubscriptions: ['a:b'] },
  _meta: meta,
})
message('a subscription without a filter', 'subscriptions/listen', { _meta: meta })
message('a subscription with a wrong filter', 'subscriptions/listen', {
  notifications: { toolsListChanged: 1 },
  _meta: meta,
})
message('a call without a name', 'tools/call', { arguments: {} })
message('a call whose name is a number', 'tools/call', { name: 1, _meta: meta })
const client = { capabilities: {}, clientInfo: { name: 'c', version: '1' } }
for (const protocolVersion of ['2025-11-25', '2024-11-05', '2024-10-07', '2026-07-28', 'x', 1]) {
  const opening = { protocolVersion, ...client }
  message(`initialize for ${protocolVersion}`, 'initialize', opening)
  message(`initialize for ${protocolVersion}, again`, 'initialize', opening, { id: 'second' })
  message(`initialize for ${protocolVersion} with an envelope`, 'initialize', { ...opening, _meta: meta })
}
message('initialize without a client', 'initialize', { protocolVersion: '2025-11-25', capabilities: {} })
for (const method of ['notifications/initialized', 'notifications/cancelled', 'tools/call']) {
  for (const [what, params] of Object.entries({
    'no params': undefined,
    params: { requestId: 1, reason: 'r' },
    metadata: { _meta: meta },
    'no metadata': { _meta: 1 },
  })) {
    bodies.push([
      `${method} as notification with ${what}`,
      { jsonrpc: '2.0', method, ...(params && { params }) },
    ])
  }
}
message('a notification with an unknown revision', 'notifications/x', {
  _meta: { ...meta, [pv]: '2031-01-01' },
})
const pinged = { jsonrpc: '2.0', id: 1, method: 'ping' }
const listed = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
const opened = { ...listed, method: 'initialize', params: { protocolVersion: '2025-11-25', ...client } }
bodies.push(
  ['a batch with an envelope', [{ jsonrpc: '2.0', method: 'ping', params: { _meta: meta } }]],
  ['a result', { jsonrpc: '2.0', id: 1, result: {} }],
  ['an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'm' } }],
  ['a batch', [pinged, listed]],
  ['a batch of one', [listed]],
  ['an empty batch', []],
  ['a batch with an opening', [pinged, opened]],
  [
    'a batch with an unknown method',
    [
      { ...pinged, method: 'x/y' },
      { jsonrpc: '2.0', method: 'a' },
    ],
  ],
  ['a batch with something else', [pinged, 1]],
  ['params that are undefined', { ...pinged, params: null }],
)

/** Headers of a well-behaved client of 2026-07-28 for `body`, as far as it has them. */
function headers2026(body: unknown): Record<string, string> {
  const { method, params } = body as { method?: unknown; params?: { name?: unknown; arguments?: unknown } }
  const { region, deep, flag } = (params?.arguments ?? {}) as {
    region?: string | null
    deep?: { size?: number }
    flag?: boolean
  }
  const encode = (text: string): string =>
    /^[\x20-\x7E]*$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
  return {
    accept: both,
    'mcp-protocol-version': '2026-07-28',
    ...(typeof method === 'string' && { 'mcp-method': method }),
    ...(typeof params?.name === 'string' && { 'mcp-name': encode(params.name) }),
    ...(typeof region === 'string' && { 'mcp-param-region': encode(region) }),
    ...(deep?.size !== undefined && { 'mcp-param-size': `${deep.size}.0` }),
    ...(flag !== undefined && { 'mcp-param-flag': String(flag) }),
  }
}

const without = (headers: Record<string, string>, gone: string): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== gone))

/** Ways to send one body: as clients do, and wrong ones. */
const ways: [string, (body: unknown) => Record<string, string>][] = [
  ['as an earlier client', () => ({ accept: both })],
  ['as a client of 2025-11-25', () => ({ accept: both, 'mcp-protocol-version': '2025-11-25' })],
  ['as a hosted assistant', () => ({ accept: both, 'mcp-protocol-version': '2026-07-28' })],
  ['as curl', () => ({ accept: '*/*' })],
  ['as a client of 2026-07-28', headers2026],
  ['by hand', () => ({})],
  ['as a browser', () => ({ accept: 'text/html' })],
  ['for a stream only', () => ({ accept: 'text/event-stream' })],
  ['with an unknown version', () => ({ accept: both, 'mcp-protocol-version': '2030-01-01' })],
  ['with a version that never was', () => ({ accept: both, 'mcp-protocol-version': '2025-01-01' })],
  ['with an unknown session', () => ({ accept: both, 'mcp-session-id': 'x' })],
  ['as one that accepts JSON only', (body) => ({ ...headers2026(body), accept: 'application/json' })],
  ['without the version', (body) => without(headers2026(body), 'mcp-protocol-version')],
  ['without the method', (body) => without(headers2026(body), 'mcp-method')],
  ['without the name', (body) => without(headers2026(body), 'mcp-name')],
  ['without a parameter', (body) => without(headers2026(body), 'mcp-param-region')],
  ['with another version', (body) => ({ ...headers2026(body), 'mcp-protocol-version': '2025-11-25' })],
  ['with another method', (body) => ({ ...headers2026(body), 'mcp-method': 'tools/other' })],
  ['with another name', (body) => ({ ...headers2026(body), 'mcp-name': 'other' })],
  ['with a broken name', (body) => ({ ...headers2026(body), 'mcp-name': '=?base64?%%?=' })],
  ['with an encoded name', (body) => ({ ...headers2026(body), 'mcp-name': '=?base64?aGVsbG8=?=' })],
  ['with another parameter', (body) => ({ ...headers2026(body), 'mcp-param-region': 'us' })],
  ['with another size', (body) => ({ ...headers2026(body), 'mcp-param-size': '43' })],
  ['with a broken parameter', (body) => ({ ...headers2026(body), 'mcp-param-region': '=?base64?_?=' })],
]

const requests: [string, Sent[]][] = bodies.map(([what, body]) => [
  what,
  ways.map(([how, headers]) => ({ name: `${what}, ${how}`, headers: headers(body), body })),
])

/** What a client sees. A stream is what came on it, and the kind of stream is a header. */
async function seen(
  endpoint: McpEndpoint,
  { headers, body }: Sent,
): Promise<{ status: number; [seen: string]: unknown }> {
  const request = new Request('https://mcp.example/mcp', {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const response = toResponse(
    await endpoint.handle(request, JSON.parse(JSON.stringify(body)), callerSample, callsSample()),
  )
  const text = await response.text()
  const type = response.headers.get('content-type')
  const length = response.headers.get('content-length')
  return {
    status: response.status,
    type,
    hasTrueLength: length === null || Number(length) === Buffer.byteLength(text),
    allow: response.headers.get('allow'),
    challenge: response.headers.get('www-authenticate'),
    session: response.headers.get('mcp-session-id'),
    cache: response.headers.get('cache-control'),
    buffering: response.headers.get('x-accel-buffering'),
    body: type === 'application/json' ? (JSON.parse(text) as unknown) : text,
  }
}

describe('the plain endpoint answers as the endpoint of the SDK does', () => {
  const sdk = createSdkEndpoint(endpointConfigSample(module))
  const own = createPlainEndpoint(endpointConfigSample(module))
  afterAll(() => Promise.all([sdk.close(), own.close()]))

  const statuses = new Map<number, number>()

  it.each(requests)('%s', async (_what, sent) => {
    for (const request of sent) {
      const expected = await seen(sdk, request)
      expect(await seen(own, request), request.name).toEqual(expected)
      statuses.set(expected.status, (statuses.get(expected.status) ?? 0) + 1)
    }
  })

  it('MCP transport Base-Protocol: the plain endpoint is compared on more than 50 good and bad requests of each status', () => {
    const many = [200, 202, 400, 404].map((status) => [status, (statuses.get(status) ?? 0) > 50])
    expect(many).toEqual([
      [200, true],
      [202, true],
      [400, true],
      [404, true],
    ])
  })
})
