import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { StatelessTransport } from './stateless-transport.ts'
import type { Transport } from './transport.ts'
import type { Received } from '../../tests/support/remote/received.ts'
import { startServer } from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../tests/support/remote/remote.ts'
import {
  createHarness,
  exchange,
  forTest,
  type TransportHarness,
} from '../../tests/support/bridge/proxy/transport-harness.ts'
import { until } from '../../tests/support/until.ts'

let peer: Remote
let harness: TransportHarness
let transport: Transport
let answer: (request: Received) => void

beforeEach(async () => {
  answer = (request) => request.answer({ result: {} })
  peer = await startServer({ handle: (request) => (answer(request), true) })
  harness = createHarness()
  const headers = { accept: 'x/y', 'X-Mine': '1' }
  const config = { serverUrl: peer.url, headers, retryMs: 1000, cookies: true }
  transport = forTest(new StatelessTransport(config, harness.ports))
})

const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
const call = (name: string, id: string | number = 1): JsonRpcMessage => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: { name: 'inner', uri: 'inner' }, _meta: meta },
})

describe('headers', () => {
  const later = { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } }

  it.each<[string, method: string, params: JsonObject | undefined, Record<string, string | undefined>]>([
    ['a tool', 'tools/call', { name: 'run_sql' }, { 'mcp-method': 'tools/call', 'mcp-name': 'run_sql' }],
    ['a name beyond ASCII', 'tools/call', { name: 'größe' }, { 'mcp-name': '=?base64?Z3LDtsOfZQ==?=' }],
    ['a resource', 'resources/read', { uri: 'file:///a', name: 'n' }, { 'mcp-name': 'file:///a' }],
    ['a prompt', 'prompts/get', { name: 'p' }, { 'mcp-name': 'p' }],
    [
      'another revision',
      'tools/list',
      later,
      { 'mcp-protocol-version': '2099-01-01', 'mcp-name': undefined },
    ],
    ['the revision', 'tools/list', { _meta: meta }, { 'mcp-protocol-version': '2026-07-28' }],
    ['no params', 'server/discover', undefined, { 'mcp-protocol-version': '2026-07-28' }],
    ['names that are no text', 'tools/call', { name: 7, _meta: [] }, { 'mcp-name': undefined }],
  ])(
    'a request of 2026-07-28 repeats in headers what its body has: %s',
    async (_what, method, params, headers) => {
      await exchange(transport, { jsonrpc: '2.0', id: 1, method, ...(params && { params }) })
      expect(peer.received[0]?.headers).toMatchObject({
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-mine': '1',
      })
      for (const [name, value] of Object.entries(headers)) expect(peer.received[0]?.headers[name]).toBe(value)
      expect(peer.received[0]?.headers).not.toHaveProperty('mcp-session-id')
    },
  )

  it('a call has the headers that its tool declares', async () => {
    const inputSchema = { type: 'object', properties: { name: { type: 'string', 'x-mcp-header': 'Region' } } }
    harness.ports.knownTools = () => [{ name: 'a', inputSchema }]
    await exchange(transport, call('a'))
    await exchange(transport, call('b'))
    expect(peer.received.map(({ headers }) => headers['mcp-param-region'])).toEqual(['inner', undefined])
  })

  it('headers are read beside megabytes of arguments', async () => {
    const text = 'x"\\'.repeat(1_000_000)
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { arguments: { text }, _meta: meta, name: 'late' },
    } as const
    await exchange(transport, message)
    expect(peer.received[0]?.headers['mcp-name']).toBe('late')
    expect(peer.received[0]?.body).toEqual(message)
  })
})

describe('answers', () => {
  it.each([-32_020, -32_021, -32_022, -32_601])('a protocol error (%s) is delivered', async (code) => {
    answer = (request) =>
      request.json(code === -32_601 ? 404 : 400, {
        jsonrpc: '2.0',
        id: 1,
        error: { code, message: 'm', data: { a: 1 } },
      })
    expect(await exchange(transport, call('a'))).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code, message: 'm', data: { a: 1 } } },
    ])
  })
})

describe('a call that lacks headers', () => {
  const schema = { type: 'object', properties: { name: { type: 'string', 'x-mcp-header': 'Region' } } }
  const tool = { name: 'a', inputSchema: schema }
  let pages: JsonObject[]
  const listed = (): JsonObject[] =>
    peer.received
      .filter(({ body }) => body['method'] === 'tools/list')
      .map(({ body }) => body['params'] as JsonObject)

  beforeEach(() => {
    pages = [{ tools: [], nextCursor: '2' }, { tools: [tool] }]
    answer = (request) => {
      const { method, id } = request.body
      if (method === 'tools/list') return request.answer({ result: pages.shift() ?? { tools: [] } })
      if (request.headers['mcp-param-region'] === 'inner') return request.answer({ result: { ok: true } })
      return request.json(400, {
        jsonrpc: '2.0',
        id: id as number,
        error: { code: -32_020, message: 'header' },
      })
    }
  })

  it('a call that lacks headers is sent once more, with those of all pages of the list', async () => {
    expect(await exchange(transport, call('a'))).toMatchObject([{ result: { ok: true } }])
    expect(listed()).toEqual([{ _meta: meta }, { _meta: meta, cursor: '2' }])
    expect(await exchange(transport, call('a', 2))).toMatchObject([{ result: { ok: true } }])
    expect(peer.received).toHaveLength(5)
  })

  it('calls that lack headers share one list', async () => {
    const answers = await Promise.all([1, 2, 3].map((id) => exchange(transport, call('a', id))))
    expect(answers).toMatchObject([1, 2, 3].map((id) => [{ id, result: { ok: true } }]))
    expect(listed()).toHaveLength(2)
  })

  it('a call keeps its error if the list does not help', async () => {
    pages = [{ tools: [], nextCursor: 7 }]
    expect(await exchange(transport, call('a'))).toMatchObject([{ error: { code: -32_020 } }])
    expect(peer.received.map(({ body }) => body['method'])).toEqual([
      'tools/call',
      'tools/list',
      'tools/call',
    ])
  })

  it('a list of tools without an end is not read for ever', async () => {
    pages = Array.from({ length: 2000 }, () => ({ tools: [], nextCursor: 'more' }))
    expect(await exchange(transport, call('a'))).toMatchObject([{ error: { code: -32_020 } }])
    expect(listed().length).toBeLessThan(1500)
  })
})

it('only a call is repeated for its headers; for its version it is repeated without reading the list', async () => {
  const refuse = (code: number) => (request: Received) =>
    request.json(400, {
      jsonrpc: '2.0',
      id: 1,
      error: { code, message: 'm', data: { supported: ['2026-07-28'] } },
    })
  answer = refuse(-32_020)
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } } as const
  expect(await exchange(transport, list)).toMatchObject([{ error: { code: -32_020 } }])
  expect(peer.received).toHaveLength(1)
  answer = refuse(-32_022)
  expect(await exchange(transport, call('a'))).toMatchObject([{ error: { code: -32_022 } }])
  expect(peer.received.map(({ body }) => body['method'])).toEqual(['tools/list', 'tools/call', 'tools/call'])
  answer = refuse(-32_000)
  expect(await exchange(transport, call('a'))).toMatchObject([{ error: { code: -32_000 } }])
  expect(peer.received).toHaveLength(4)
})

it('messages before a response are delivered in order, an error last', async () => {
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }
  const failed = { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'm' } }
  answer = (request) => {
    request.events([progress, failed].map((each) => `data: ${JSON.stringify(each)}\n\n`).join(''))
    request.response.end()
  }
  expect(await exchange(transport, call('a'))).toEqual([progress, failed])
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } } as const
  expect(await exchange(transport, list)).toEqual([progress, failed])
})

it('a request is repeated for a version that the server offers after all', async () => {
  let refusals = 0
  answer = (request) => {
    if (refusals > 0) return request.answer({ result: {} })
    refusals += 1
    request.json(400, {
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32_022, message: 'm', data: { supported: ['2026-07-28'] } },
    })
  }
  expect(
    await exchange(transport, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }),
  ).toMatchObject([{ result: {} }])
  expect(peer.received).toHaveLength(2)
})

describe('a subscription', () => {
  const listen: JsonRpcMessage = {
    jsonrpc: '2.0',
    id: 'listen',
    method: 'subscriptions/listen',
    params: { _meta: meta },
  }

  it('a subscription stays open until the server ends it', async () => {
    let stream: Received | undefined
    answer = (request) => {
      stream = request
      request.events(': keepalive\n\n')
    }
    const delivered: unknown[] = []
    let isOver = false
    const listening = exchange(transport, listen, {
      deliver: (message) => void delivered.push(message.envelope),
    }).then(() => (isOver = true))
    await until(() => stream !== undefined)
    stream?.response.write(
      ': keepalive\n\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n',
    )
    await until(() => delivered.length === 1)
    expect(isOver).toBe(false)
    stream?.response.write('data: {"jsonrpc":"2.0","id":"listen","result":{}}\n\n')
    await listening
    expect(delivered).toHaveLength(2)
  })

  it('a subscription that breaks off ends, so that its client knows', async () => {
    answer = (request) => {
      request.events('data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}\n\n')
      setTimeout(() => request.response.destroy(), 20)
    }
    await expect(exchange(transport, listen)).rejects.toMatchObject({ fault: 'lost' })
    expect(peer.received).toHaveLength(1)
  })

  it('a subscription is cancelled at the server by its signal', async () => {
    let isClosed = false
    answer = (request) => {
      request.events(': open\n\n')
      request.response.on('close', () => (isClosed = true))
    }
    const giveUp = new AbortController()
    const listening = exchange(transport, listen, { signal: giveUp.signal })
    await until(() => peer.received.length === 1)
    giveUp.abort()
    await expect(listening).rejects.toMatchObject({ name: 'NetworkError', fault: 'aborted' })
    await until(() => isClosed)
  })
})

it('close aborts open requests', async () => {
  answer = () => {}
  const sending = exchange(transport, call('a'))
  await until(() => peer.received.length === 1)
  const [failed] = await Promise.allSettled([sending, transport.close(100)])
  expect(failed).toMatchObject({ reason: { fault: 'aborted' } })
})

it('a subscription may be silent for longer than a response', async () => {
  harness = createHarness(1, 300)
  const config = { serverUrl: peer.url, headers: {}, retryMs: 1000, cookies: true }
  transport = forTest(new StatelessTransport(config, harness.ports))
  let subscription: Received | undefined
  answer = (request) => {
    request.events(': and no more\n\n')
    if (request.body['method'] === 'subscriptions/listen') subscription = request
  }
  const listening = exchange(transport, {
    jsonrpc: '2.0',
    id: 'listen',
    method: 'subscriptions/listen',
    params: { notifications: {}, _meta: meta },
  })
  listening.catch(() => {})
  await until(() => subscription !== undefined)
  // Asked later, and given up: so would the subscription have been.
  await expect(exchange(transport, call('a'))).rejects.toMatchObject({ cause: { fault: 'body_timeout' } })
  subscription?.response.end('data: {"jsonrpc":"2.0","id":"listen","result":{}}\n\n')
  expect(await listening).toEqual([{ jsonrpc: '2.0', id: 'listen', result: {} }])
})
