import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { startServer } from '../../tests/support/bridge/proxy/proxy-rig.ts'
import {
  createHarness,
  exchange,
  forTest,
  type TransportHarness,
} from '../../tests/support/bridge/proxy/transport-harness.ts'
import type { Received } from '../../tests/support/remote/received.ts'
import type { Remote } from '../../tests/support/remote/remote.ts'
import { FallbackTransport, type TransportKind, type TransportOrder } from './session-transport.ts'

let server: Remote
let harness: TransportHarness
let stream: ServerResponse | undefined
/** The server's answers to a POST of Streamable HTTP, and to a GET. */
let [post, get]: ((request: Received) => void)[] = []
let asked: string[]

const refuse =
  (status: number) =>
  (request: Received): void =>
    request.json(status, {})
const answer = (request: Received): void =>
  request.json(200, { jsonrpc: '2.0', id: request.body['id'] as number, result: {} })
const openStream = (request: Received): void => {
  stream = request.response
  request.events('event: endpoint\ndata: /messages\n\n')
}

beforeEach(async () => {
  ;[asked, stream] = [[], undefined]
  ;[post, get] = [answer, refuse(405)]
  server = await startServer({
    handle: (request) => {
      const { method, path, body } = request
      asked.push(path === '/messages' ? 'message' : method)
      if (path === '/messages') {
        request.response.writeHead(202).end()
        stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body['id'], result: {} })}\n\n`)
      } else if (method === 'GET') get?.(request)
      else if (method === 'POST') post?.(request)
      else request.json(200, {})
      return true
    },
  })
  harness = createHarness(20)
})

function create(order: TransportOrder, remembered?: TransportKind): FallbackTransport {
  const config = { serverUrl: server.url, headers: {}, retryMs: 0, transport: order }
  return forTest(new FallbackTransport(config, harness.ports, remembered))
}

const initialize: JsonRpcMessage = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18' },
}
const call = (id: number): JsonRpcMessage => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'x' },
})

describe('the fallback between transports', () => {
  it.each<[order: TransportOrder, remembered: TransportKind | undefined, tried: string[]]>([
    ['http-first', undefined, ['POST', 'GET']],
    ['http-first', 'sse', ['GET', 'POST']],
    ['sse-first', undefined, ['GET', 'POST']],
    ['sse-first', 'http', ['POST', 'GET']],
    ['http-only', undefined, ['POST']],
    ['http-only', 'sse', ['POST']],
    ['sse-only', undefined, ['GET']],
    ['sse-only', 'http', ['GET']],
  ])('the order %s with %s remembered tries %j', async (order, remembered, tried) => {
    ;[post, get] = [refuse(404), refuse(404)]
    await expect(exchange(create(order, remembered), initialize)).rejects.toMatchObject({
      fault: 'not_found',
    })
    expect(asked).toEqual(tried)
  })

  it.each<[order: TransportOrder, first: () => void]>([
    ['http-first', () => ([post, get] = [refuse(405), openStream])],
    ['sse-first', () => ([post, get] = [answer, refuse(405)])],
    ['sse-first', () => ([post, get] = [answer, (request) => request.json(200, {})])],
    ['sse-first', () => ([post, get] = [answer, refuse(400)])],
  ])('the order %s keeps the transport that answers', async (order, first) => {
    first()
    const transport = create(order)
    await exchange(transport, initialize)
    const before = asked.length
    await exchange(transport, call(1))
    expect(asked.slice(before)).toEqual([order === 'http-first' ? 'message' : 'POST'])
    ;[post, get] = [refuse(404), refuse(404)]
    if (order === 'http-first') return
    await expect(exchange(transport, call(2))).rejects.toMatchObject({ fault: 'not_found' })
    expect(asked.slice(before)).toEqual(['POST', 'POST'])
  })

  it.each<[status: number, fault: string]>([
    [403, 'forbidden'],
    [500, 'unavailable'],
    [429, 'rate_limited'],
  ])('a server that says %i is not asked by the other', async (status, fault) => {
    ;[post, get] = [refuse(status), openStream]
    await expect(exchange(create('http-first'), initialize)).rejects.toMatchObject({ fault })
    get = refuse(status)
    await expect(exchange(create('sse-first'), initialize)).rejects.toMatchObject({ fault })
    expect(asked).toEqual(['POST', 'GET'])
  })

  it('the first failure is reported unless the second says more', async () => {
    ;[post, get] = [refuse(404), refuse(405)]
    await expect(exchange(create('http-first'), initialize)).rejects.toMatchObject({ status: 404 })
    get = refuse(500)
    await expect(exchange(create('http-first'), initialize)).rejects.toMatchObject({ status: 500 })
  })

  it('the transport that answers first is kept, although a response arrives on the other one later', async () => {
    const held: Received[] = []
    post = (request) => (request.body['method'] === 'initialize' ? held.push(request) : refuse(405)(request))
    get = openStream
    const transport = create('http-first')
    const opened = exchange(transport, initialize)
    await expect.poll(() => held.length).toBe(1)
    await exchange(transport, call(1))
    answer(held[0]!)
    await opened
    const before = asked.length
    await exchange(transport, call(2))
    expect(asked.slice(before)).toEqual(['message'])
  })

  it('the next message tries both transports again if neither answered', async () => {
    ;[post, get] = [refuse(404), refuse(404)]
    const transport = create('http-first')
    await expect(exchange(transport, initialize)).rejects.toMatchObject({ fault: 'not_found' })
    ;[post, get] = [answer, refuse(405)]
    await exchange(transport, initialize)
    expect(asked).toEqual(['POST', 'GET', 'POST'])
  })
})

it('reopen reaches the stream of the transport in use', async () => {
  ;[post, get] = [refuse(405), openStream]
  const transport = create('http-first')
  transport.reopen(false)
  await exchange(transport, initialize)
  const [first] = [stream]
  transport.reopen(true)
  await exchange(transport, call(1))
  expect(stream).toBe(first)
  transport.reopen(false)
  await expect.poll(() => stream !== first).toBe(true)
  await exchange(transport, call(2))
  expect(asked.filter((what) => what === 'GET')).toHaveLength(2)
})
