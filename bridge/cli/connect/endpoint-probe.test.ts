import { afterEach, describe, expect, it } from 'vitest'
import { createTestHttp } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { startServer } from '../../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Received } from '../../../tests/support/remote/received.ts'
import { sendInitialize } from './endpoint-probe.ts'

describe('the probe of an endpoint', () => {
  const http = createTestHttp()
  afterEach(() => http.close())

  const serve = async (answer: (request: Received) => unknown): Promise<string> =>
    (await startServer({ handle: (request) => (answer(request), true) })).url

  it('the probe of an endpoint reads the response in a stream that does not end', async () => {
    const url = await serve(({ method, response }) => {
      // The session cannot be ended.
      if (method === 'DELETE') return void response.destroy()
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Mcp-Session-Id': 's' })
      response.write(': hello\n\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n')
      response.write('id: 1\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":1,"result":{"a":1}}\r\n\r\n')
    })
    const answer = await sendInitialize(http, url, {})
    expect(answer).toMatchObject({ status: 200, message: { result: { a: 1 } } })
  })

  it('the probe of an endpoint accepts any response', async () => {
    const url = await serve(({ response }) => {
      response.writeHead(403, { 'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="a b"' })
      response.end('<html>')
    })
    const answer = await sendInitialize(http, url, {})
    expect(answer).toMatchObject({ status: 403, message: undefined })
    expect(answer.challenges[0]?.params.get('scope')).toBe('a b')
    expect(Math.abs((answer.date ?? 0) - Date.now() / 1000)).toBeLessThan(30)
  })

  it.each<[post: number, get: number, type: string, first: { status: number; isSse: boolean }]>([
    [405, 200, 'text/event-stream', { status: 200, isSse: true }],
    [404, 401, 'text/plain', { status: 401, isSse: false }],
    [405, 200, 'text/html', { status: 405, isSse: false }],
    [405, 503, 'text/event-stream', { status: 405, isSse: false }],
    [404, 403, 'text/event-stream', { status: 404, isSse: false }],
    [404, 404, 'text/plain', { status: 404, isSse: false }],
  ])(
    'the probe of an endpoint tries the older transport after POST got %d: GET gets %d %s',
    async (post, get, type, first) => {
      const url = await serve(({ method, response }) => {
        response.writeHead(method === 'POST' ? post : get, { 'Content-Type': type })
        if (get === 200 && method === 'GET') response.write('event: endpoint\ndata: /m\n\n')
        else response.end()
      })
      expect(await sendInitialize(http, url, {})).toMatchObject(first)
    },
  )

  it('the probe of an endpoint fails without a response', async () => {
    const url = await serve(({ response }) => response.destroy())
    await expect(sendInitialize(http, url, {})).rejects.toMatchObject({
      name: 'NetworkError',
    })
  })
})
