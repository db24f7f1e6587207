import type { ServerResponse } from 'node:http'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { SseTransport } from './sse.ts'
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
let stream: ServerResponse | undefined
let streams: number
let endpoint: string
let intercept: (request: Received) => boolean

beforeEach(async () => {
  stream = undefined
  streams = 0
  endpoint = '/messages?session='
  intercept = () => false
  peer = await startServer({ handle: (request) => (answer(request), true) })
  harness = createHarness(20)
  const config = { serverUrl: peer.sseUrl, headers: {}, retryMs: 500, cookies: true }
  transport = forTest(new SseTransport(config, harness.ports))
})

/** A server of 2024-11-05 whose sessions are its streams. */
function answer(request: Received): void {
  if (intercept(request)) return
  if (request.method === 'GET') {
    streams += 1
    stream = request.response
    request.events(`event: endpoint\ndata: ${endpoint}${streams}\n\n`)
    return
  }
  request.response.writeHead(202).end('Accepted')
  const { id, method } = request.body
  if (request.path.endsWith(String(streams)) && id !== undefined && method !== undefined)
    stream?.write(`event: message\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}\n\n`)
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2024-11-05' },
} as const
const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' }) as const
const bodies = (): unknown[] =>
  peer.received.filter(({ method }) => method === 'POST').map(({ body }) => body['method'] as unknown)

it('messages are posted to the endpoint and answered on the stream', async () => {
  expect(await exchange(transport, initialize)).toEqual([{ jsonrpc: '2.0', id: 0, result: {} }])
  await exchange(transport, { jsonrpc: '2.0', method: 'notifications/initialized' })
  const answers = await Promise.all([exchange(transport, list(1)), exchange(transport, list(2))])
  expect(answers.map(([one]) => one?.['id'])).toEqual([1, 2])
  expect(peer.received.map(({ method, path }) => `${method} ${path}`).slice(0, 2)).toEqual([
    'GET /sse',
    'POST /messages?session=1',
  ])
  expect(streams).toBe(1)
  stream?.write('data: {"jsonrpc":"2.0","method":"notifications/x"}\n\n')
  await until(() => harness.unsolicited.length === 1)
})

it('a stream that names no endpoint is given up after 20 seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let isClosed = false
  intercept = (request) => {
    request.events(': hello\n\n').once('close', () => (isClosed = true))
    return true
  }
  const failure = exchange(transport, initialize).catch((error: unknown) => error)
  await until(() => vi.getTimerCount() > 0 && peer.received.length === 1)
  await until(() => vi.advanceTimersByTimeAsync(1000).then(() => isClosed))
  expect(await failure).toMatchObject({ fault: 'lost' })
})

it('a broken stream is replaced, and the initialization replayed', async () => {
  await exchange(transport, initialize)
  await exchange(transport, { jsonrpc: '2.0', method: 'notifications/initialized' })
  await exchange(transport, { jsonrpc: '2.0', id: 5, method: 'logging/setLevel', params: { level: 'info' } })
  intercept = (request) => request.method === 'POST' && request.body['id'] === 9
  const waiting = exchange(transport, { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'x' } })
  await until(() => bodies().at(-1) === 'tools/call')
  stream?.destroy()
  await expect(waiting).rejects.toMatchObject({ fault: 'lost' })
  await until(() => bodies().filter((method) => method === 'logging/setLevel').length === 2)
  expect(await exchange(transport, list(10))).toHaveLength(1)
  expect(bodies().slice(4)).toEqual([
    'initialize',
    'notifications/initialized',
    'logging/setLevel',
    'tools/list',
  ])
  expect(streams).toBe(2)
})

it('a read is sent again on the next stream', async () => {
  await exchange(transport, initialize)
  await exchange(transport, { jsonrpc: '2.0', method: 'notifications/initialized' })
  let asked = 0
  intercept = (request) => {
    if (request.method !== 'POST' || request.body['id'] !== 9) return false
    asked += 1
    if (asked > 1) return false
    request.response.writeHead(202).end()
    stream?.destroy()
    return true
  }
  expect(await exchange(transport, list(9))).toEqual([{ jsonrpc: '2.0', id: 9, result: {} }])
  expect(asked).toBe(2)
})

it('a refused POST is not sent again', async () => {
  await exchange(transport, initialize)
  let asked = 0
  intercept = (request) => {
    if (request.method !== 'POST') return false
    asked += 1
    request.response.writeHead(403).end()
    return true
  }
  await expect(exchange(transport, list(9))).rejects.toMatchObject({ fault: 'forbidden', status: 403 })
  expect(asked).toBe(1)
})

it.each(['https://elsewhere.example/messages?', 'http://[', '//elsewhere.example/'])(
  'an endpoint of another origin gets no message: %s',
  async (address) => {
    endpoint = address
    await expect(exchange(transport, initialize)).rejects.toMatchObject({ fault: 'refused' })
    expect(bodies()).toEqual([])
  },
)

it('a second endpoint event of a stream is ignored, as its session has one', async () => {
  await exchange(transport, initialize)
  stream?.write(`event: endpoint\ndata: /other\n\n`)
  stream?.write('data: {"jsonrpc":"2.0","method":"notifications/behind"}\n\n')
  await until(() => harness.unsolicited.length === 1)
  await exchange(transport, list(1))
  const paths = peer.received.filter(({ method }) => method === 'POST').map(({ path }) => path)
  expect(paths).toEqual(['/messages?session=1', '/messages?session=1'])
})

it.each<[string, (request: Received) => void, string]>([
  ['404', (request) => request.json(404, {}), 'not_found'],
  [
    'a page',
    (request) => request.response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>'),
    'no_mcp',
  ],
  ['a stream that ends', (request) => void (request.events(': x\n\n'), request.response.end()), 'lost'],
])(
  'a request fails when the stream is %s, and the next message tries again',
  async (_what, refuse, fault) => {
    intercept = (request) => request.method === 'GET' && (refuse(request), true)
    await expect(exchange(transport, initialize)).rejects.toMatchObject({ fault })
    intercept = () => false
    expect(await exchange(transport, initialize)).toHaveLength(1)
  },
)

it('a stream that is refused with 401 needs a sign-in', async () => {
  intercept = (request) => {
    if (request.headers.authorization === 'Bearer good') return false
    request.json(401, {})
    return true
  }
  harness.onRefusal = () => ((harness.token = 'good'), 'retry')
  expect(await exchange(transport, initialize)).toHaveLength(1)
})

it('the response to a cancelled request is dropped', async () => {
  await exchange(transport, initialize)
  intercept = (request) => (request.response.writeHead(202).end(), true)
  const giveUp = new AbortController()
  const sending = exchange(transport, list(7), { signal: giveUp.signal })
  await until(() => bodies().includes('tools/list'))
  giveUp.abort()
  await expect(sending).rejects.toMatchObject({ fault: 'aborted' })
  stream?.write('data: {"jsonrpc":"2.0","id":7,"result":{}}\n\n')
  await until(() => harness.notes.some((note) => note.startsWith('dropped')))
  expect(harness.unsolicited).toEqual([])
})

it('a cancelled message does not wait for the stream', async () => {
  intercept = () => true
  const giveUp = new AbortController()
  const sending = exchange(transport, initialize, { signal: giveUp.signal })
  await until(() => peer.received.length === 1)
  giveUp.abort()
  await expect(sending).rejects.toMatchObject({ fault: 'aborted' })
})

it('close ends the stream and all requests', async () => {
  await exchange(transport, initialize)
  let isClosed = false
  stream?.on('close', () => (isClosed = true))
  await transport.close(100)
  await until(() => isClosed)
  await expect(exchange(transport, list(1))).rejects.toMatchObject({ fault: 'aborted' })
  expect(streams).toBe(1)
})

it('the stream may be silent for longer than a response', async () => {
  harness = createHarness(1, 300)
  const config = { serverUrl: peer.sseUrl, headers: {}, retryMs: 500, cookies: true }
  transport = forTest(new SseTransport(config, harness.ports))
  await exchange(transport, initialize)
  // Sent later, and given up: so would the stream have been.
  intercept = ({ method, response }) => {
    if (method === 'POST') response.writeHead(400).write('and no more')
    return method === 'POST'
  }
  await expect(exchange(transport, list(1))).rejects.toMatchObject({ fault: 'refused' })
  intercept = () => false
  await exchange(transport, list(2))
  expect(streams).toBe(1)
})
