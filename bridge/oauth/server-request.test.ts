import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import type { HttpClient } from '../http/http-client.ts'
import { createHttpClient } from '../http/undici-client.ts'
import { type ServerResponse, requestJson } from './server-request.ts'

let server: Server
let http: HttpClient

async function start(answer: RequestListener): Promise<string> {
  http = createHttpClient({
    connectTimeoutMs: 0,
    headersTimeoutMs: 0,
    bodyTimeoutMs: 0,
    ipv4: false,
    ca: undefined,
    proxy: undefined,
    allowHttp: false,
    userAgent: 'drawbridge-test',
  })
  server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/token?query`
}

function request(url: string, { signal } = new AbortController()): Promise<ServerResponse> {
  return requestJson({ method: 'GET', url, headers: {} }, { http, signal })
}

afterEach(async () => {
  vi.useRealTimers()
  http.close()
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
})

it.each<[name: string, answer: RequestListener]>([
  ['never answers', () => undefined],
  ['never ends its answer', (_request, reply) => void reply.writeHead(200).write('{')],
])('a server that %s times out after 15 seconds', async (_name, answer) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let reach: () => void = () => undefined
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const url = await start((request, reply) => {
    answer(request, reply)
    reach()
  })
  const exchange = request(url)
  let isOver = false
  exchange.catch(() => (isOver = true))
  await reached
  vi.advanceTimersByTime(14_999)
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  vi.advanceTimersByTime(1)
  await expect(exchange).rejects.toMatchObject({ name: 'NetworkError', fault: 'headers_timeout', sent: true })
  await expect(exchange).rejects.toThrow(/^http:\/\/127\.0\.0\.1:\d+ did not answer within 15 s$/)
})

it('a caller that gives up gets its own reason, not a timeout', async () => {
  const stop = new AbortController()
  const url = await start(() => stop.abort())
  const exchange = request(url, stop)
  await expect(exchange).rejects.toMatchObject({ name: 'NetworkError', fault: 'aborted' })
  // Less than the 15 seconds after which it would end anyway.
}, 5000)

it.each([
  ['{"a":1}', { a: 1 }],
  ['null', null],
  ['', undefined],
  ['<p>no</p>', undefined],
  [JSON.stringify('x'.repeat(300_000)), undefined],
])('reads %.20s as %j', async (body, json) => {
  const url = await start((_request, reply) => reply.writeHead(418, { 'x-kind': 'teapot' }).end(body))
  const answer = await request(url)
  expect(answer).toMatchObject({ status: 418, headers: { 'x-kind': 'teapot' } })
  expect(answer.json).toEqual(json)
})
