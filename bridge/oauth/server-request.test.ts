import { createSignal } from '@drawbridge/shared/async.ts'
import type { RequestListener } from 'node:http'
import { afterEach, expect, it, vi } from 'vitest'
import { serveHttp, testClient } from '../../tests/support/bridge/http/server-fixture.ts'
import { type ServerResponse, requestJson } from './server-request.ts'

afterEach(() => void vi.useRealTimers())

async function request(
  listener: RequestListener,
  { signal } = new AbortController(),
): Promise<ServerResponse> {
  const { origin } = await serveHttp(listener)
  const http = testClient({ connectTimeoutMs: 0, headersTimeoutMs: 0, bodyTimeoutMs: 0 })
  return requestJson({ method: 'GET', url: `${origin}/token?query`, headers: {} }, { http, signal })
}

it.each<[name: string, answer: RequestListener]>([
  ['never answers', () => undefined],
  ['never ends its answer', (_request, reply) => void reply.writeHead(200).write('{')],
])('a server that %s times out after 15 seconds', async (_name, answer) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { given: reached, give: reach } = createSignal()
  const exchange = request((asked, reply) => {
    answer(asked, reply)
    reach()
  })
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
  const exchange = request(() => stop.abort(), stop)
  await expect(exchange).rejects.toMatchObject({ name: 'NetworkError', fault: 'aborted' })
  // Less than the 15 seconds after which it would end anyway.
}, 5000)

it.each([
  ['{"a":1}', { a: 1 }],
  ['null', null],
  ['', undefined],
  ['<p>no</p>', undefined],
  [JSON.stringify('x'.repeat(300_000)), undefined],
])('a response body %.20s is read as %j', async (body, json) => {
  const answer = await request((_request, reply) => reply.writeHead(418, { 'x-kind': 'teapot' }).end(body))
  expect(answer).toMatchObject({ status: 418, headers: { 'x-kind': 'teapot' } })
  expect(answer.json).toEqual(json)
})
