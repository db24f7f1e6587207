import type { Socket } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { type HttpResponse, readBody } from './http-client.ts'
import {
  exchange,
  networkErrorOf,
  onRequest,
  serveHttp,
  serveRaw,
  testClient,
} from '../../tests/support/bridge/http/server-fixture.ts'

const secretPath = '/mcp/secret-path?token=secret-query'

describe('a server that misbehaves', () => {
  type Misbehave = (socket: Socket) => void
  const reset: Misbehave = (socket) => socket.resetAndDestroy()
  const end: Misbehave = (socket) => socket.end()
  const write =
    (text: string, then: Misbehave = () => {}): Misbehave =>
    (socket) =>
      socket.write(text, () => then(socket))
  const begun = 'HTTP/1.1 200 OK\r\n'
  const half = `${begun}Content-Length: 10\r\n\r\n12345`

  it.each<[name: string, misbehave: Misbehave, fault: string]>([
    ['resets before it answers', reset, 'reset'],
    ['closes before it answers', end, 'reset'],
    ['resets within the head', write('HTTP/1.1 2', reset), 'reset'],
    ['closes within the head', write(`${begun}Conte`, end), 'reset'],
    ['resets within the body', write(half, reset), 'reset'],
    ['closes within the body', write(half, end), 'reset'],
    ['speaks no HTTP', write('SSH-2.0-OpenSSH\r\n', end), 'protocol'],
    ['breaks its chunks', write(`${begun}Transfer-Encoding: chunked\r\n\r\nzz\r\n`), 'protocol'],
    ['gives a negative length', write(`${begun}Content-Length: -5\r\n\r\n`), 'protocol'],
    ['gives two lengths', write(`${begun}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`), 'protocol'],
    ['has a control character in its head', write(`${begun}X: a\u0001b\r\n\r\n`), 'protocol'],
  ])('a request fails by name when the server %s', async (_name, misbehave, fault) => {
    const server = await serveRaw((socket) => onRequest(socket, () => misbehave(socket)))
    const error = await networkErrorOf(
      exchange(testClient(), `${server.origin}${secretPath}`, { headers: { X: 'secret-header' } }),
    )
    expect(error).toMatchObject({ fault, sent: true, origin: server.origin })
    expect(error.message).toContain(`127.0.0.1:${server.port}`)
    expect(error.message).not.toContain('secret')
    // A new connection that breaks is not a race: the request must not arrive twice.
    expect(server.sockets).toHaveLength(1)
  })

  it('a request gets a response that the server sends before it has read the request', async () => {
    const server = await serveRaw((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno')),
    )
    const body = Buffer.alloc(20_000_000)
    expect(await exchange(testClient(), server.origin, { body })).toMatchObject({ status: 413, text: 'no' })
  })
})

describe('limits of time', () => {
  it('the connect timeout ends a TLS handshake that never completes', async () => {
    const server = await serveRaw((socket) => socket.resume())
    const url = `https://127.0.0.1:${server.port}/`
    const error = await networkErrorOf(exchange(testClient({ connectTimeoutMs: 60 }), url))
    expect(error).toMatchObject({ fault: 'connect_timeout', sent: false })
    expect(error.message).toContain('after 0.06 s')
    await vi.waitFor(() => expect(server.sockets[0]?.closed).toBe(true))
  })

  it('the headers timeout ends a response whose head does not arrive in time', async () => {
    const server = await serveRaw((socket) => socket.resume().write('HTTP/1.1 200 OK\r\n'))
    const error = await networkErrorOf(exchange(testClient({ headersTimeoutMs: 60 }), server.origin))
    expect(error).toMatchObject({ fault: 'headers_timeout', sent: true })
    await vi.waitFor(() => expect(server.sockets.every(({ closed }) => closed)).toBe(true))
  })

  it('the body timeout ends a body that pauses too long, on a new and on a kept connection', async () => {
    const server = await serveHttp((request, response) => {
      if (request.url === '/half') response.write('half')
      else response.end('whole')
    })
    const client = testClient({ bodyTimeoutMs: 60 })
    expect(await networkErrorOf(exchange(client, `${server.origin}/half`))).toMatchObject({
      fault: 'body_timeout',
      sent: true,
    })
    await exchange(client, server.origin)
    expect(await networkErrorOf(exchange(client, `${server.origin}/half`))).toMatchObject({
      fault: 'body_timeout',
    })
    const own = exchange(testClient(), `${server.origin}/half`, { bodyTimeoutMs: 61 })
    expect((await networkErrorOf(own)).message).toContain('after 0.061 s')
  })

  it('a slow body and a slow reader may take longer than the body timeout', async () => {
    const server = await serveHttp((request, response) => {
      if (request.url === '/large') return void response.end(Buffer.alloc(5_000_000))
      let left = 8
      const timer = setInterval(() => {
        if (left-- > 0) return void response.write('x')
        clearInterval(timer)
        response.end()
      }, 100)
    })
    const client = testClient({ bodyTimeoutMs: 600 })
    expect((await exchange(client, server.origin)).text).toBe('xxxxxxxx')
    const large = await client.send({ method: 'GET', url: `${server.origin}/large`, headers: {} })
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect((await readBody(large, 10_000_000)).length).toBe(5_000_000)
  })

  it('the headers timeout counts from the request on a kept connection', async () => {
    const server = await serveHttp((request, response) => {
      if (request.url === '/hang') return
      setTimeout(() => response.end('a'), request.url === '/slow' ? 300 : 0)
    })
    const client = testClient({ connectTimeoutMs: 150, headersTimeoutMs: 600 })
    await exchange(client, server.origin)
    expect((await exchange(client, `${server.origin}/slow`)).text).toBe('a')
    const silent = exchange(client, `${server.origin}/hang`)
    expect(await networkErrorOf(silent)).toMatchObject({ fault: 'headers_timeout', sent: true })
    expect(server.sockets).toHaveLength(1)
  })

  it('timeouts of 0 do not apply', async () => {
    const server = await serveHttp((_request, response) => {
      setTimeout(() => {
        response.write('a')
        setTimeout(() => response.end('b'), 80)
      }, 80)
    })
    const client = testClient({ bodyTimeoutMs: 20, headersTimeoutMs: 0 })
    expect((await exchange(client, server.origin, { bodyTimeoutMs: 0 })).text).toBe('ab')
  })
})

it('an abort ends a request during the TLS handshake', async () => {
  const abort = new AbortController()
  const server = await serveRaw((socket) => {
    socket.resume()
    abort.abort()
  })
  const url = `https://127.0.0.1:${server.port}/`
  expect(await networkErrorOf(exchange(testClient(), url, { signal: abort.signal }))).toMatchObject({
    fault: 'aborted',
    sent: false,
  })
})

it('an abort changes nothing after the end, and leaves no listener on the signal', async () => {
  const server = await serveHttp((_request, response) => response.end('a'))
  const client = testClient()
  const abort = new AbortController()
  const removed = vi.spyOn(abort.signal, 'removeEventListener')
  const added = vi.spyOn(abort.signal, 'addEventListener')
  expect((await exchange(client, server.origin, { signal: abort.signal })).text).toBe('a')
  await vi.waitFor(() => expect(removed).toHaveBeenCalledTimes(1))
  expect(added).toHaveBeenCalledTimes(1)
  abort.abort()
  await exchange(client, server.origin)
  expect(server.sockets).toHaveLength(1)
})

it('an abort ends the connection of a body that is no longer read', async () => {
  const server = await serveHttp((_request, response) => void response.write('half'))
  const response: HttpResponse = await testClient().send({ method: 'GET', url: server.origin, headers: {} })
  response.body.destroy()
  await vi.waitFor(() => expect(server.sockets[0]?.closed).toBe(true))
})
