import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { networkConfig } from '../../config/config-part.ts'
import { createHttpClient } from '../../http/undici-client.ts'
import { askFirst } from './endpoint-probe.ts'

describe('asking an endpoint', () => {
  const servers: Server[] = []
  const http = createHttpClient(networkConfig({}, { environment: {} }))
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
    http.close()
  })

  async function serve(listener: RequestListener): Promise<string> {
    const server = createServer(listener)
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }

  it('reads the response in a stream that does not end', async () => {
    const url = await serve((request, response) => {
      // The session cannot be ended.
      if (request.method === 'DELETE') return void request.socket.destroy()
      response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Mcp-Session-Id': 's' })
      response.write(': hello\n\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n')
      response.write('id: 1\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":1,"result":{"a":1}}\r\n\r\n')
    })
    const answer = await askFirst(http, url, {})
    expect(answer).toMatchObject({ status: 200, message: { result: { a: 1 } } })
  })

  it('takes anything for an answer', async () => {
    const url = await serve((_request, response) => {
      response.writeHead(403, { 'WWW-Authenticate': 'Bearer error="insufficient_scope", scope="a b"' })
      response.end('<html>')
    })
    const answer = await askFirst(http, url, {})
    expect(answer).toMatchObject({ status: 403, message: undefined })
    expect(answer.challenges[0]?.params.get('scope')).toBe('a b')
    expect(Math.abs((answer.date ?? 0) - Date.now() / 1000)).toBeLessThan(30)
  })

  it.each<[post: number, get: number, type: string, first: { status: number; isSse: boolean }]>([
    [405, 200, 'text/event-stream', { status: 200, isSse: true }],
    [404, 401, 'text/plain', { status: 401, isSse: false }],
    [405, 200, 'text/html', { status: 405, isSse: false }],
    [404, 404, 'text/plain', { status: 404, isSse: false }],
  ])('asks for the older transport where POST gets %d: GET gets %d %s', async (post, get, type, first) => {
    const url = await serve((request, response) => {
      response.writeHead(request.method === 'POST' ? post : get, { 'Content-Type': type })
      if (get === 200 && request.method === 'GET') response.write('event: endpoint\ndata: /m\n\n')
      else response.end()
    })
    expect(await askFirst(http, url, {})).toMatchObject(first)
  })

  it('fails when nothing answers', async () => {
    const url = await serve((request) => request.socket.destroy())
    await expect(askFirst(http, url, {})).rejects.toMatchObject({
      name: 'NetworkError',
    })
  })
})
