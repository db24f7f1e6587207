import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import {
  exchange,
  networkErrorOf,
  serveHttp,
  serveRaw,
  testClient,
} from '../../tests/support/bridge/http/server-fixture.ts'

it.each([
  { method: 'POST', body: '{"a":"é"}', length: '10' },
  { method: 'POST', body: new Uint8Array([1, 2, 3]), length: '3' },
  { method: 'DELETE', body: 'x', length: '1' },
  { method: 'POST', body: undefined, length: '0' },
  { method: 'GET', body: undefined, length: undefined },
  { method: 'DELETE', body: undefined, length: undefined },
  { method: 'HEAD', body: undefined, length: undefined },
] as const)('a request by $method with the body $body arrives as sent', async ({ method, body, length }) => {
  const seen: unknown[] = []
  const server = await serveHttp((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      seen.push(request.method, request.url, request.rawHeaders, Buffer.concat(chunks))
      response.end('answer')
    })
  })
  const response = await exchange(testClient(), `${server.origin}/a/b?c=d%20e#f`, {
    method,
    headers: { 'Mcp-Method': 'ping' },
    ...(body === undefined ? { body: undefined as never } : { body }),
  })
  expect(response).toMatchObject({ status: 200, text: method === 'HEAD' ? '' : 'answer' })
  const [verb, url, headers, received] = seen as [string, string, string[], Buffer]
  expect([verb, url]).toEqual([method, '/a/b?c=d%20e'])
  expect(received).toEqual(Buffer.from(body ?? ''))
  expect(headers).toContain('Mcp-Method')
  expect(headers[headers.indexOf('User-Agent') + 1]).toBe('drawbridge/test')
  const names = headers.map((name) => name.toLowerCase())
  expect(names.includes('content-length') ? headers[names.indexOf('content-length') + 1] : undefined).toBe(
    length,
  )
  expect(headers[names.indexOf('accept-encoding') + 1]).toBe('identity')
  expect(names).not.toContain('transfer-encoding')
})

it('a request keeps a User-Agent header that the caller sets', async () => {
  const server = await serveHttp((request, response) => response.end(request.headers['user-agent']))
  expect((await exchange(testClient(), server.origin, { headers: { 'user-agent': 'mine' } })).text).toBe(
    'mine',
  )
})

it.each([
  { url: 'http://example.com/mcp', says: 'plain http' },
  { url: 'http://127.0.0.1.example.com/', says: 'plain http' },
  { url: 'http://10.0.0.1/', says: 'plain http' },
  { url: 'ftp://127.0.0.1/', says: 'https://' },
  { url: '/mcp', says: 'not an absolute URL' },
  { url: 'http://user:hunter2@127.0.0.1/', says: 'user name or password' },
])('a request is not sent to $url', async ({ url, says }) => {
  const error = await networkErrorOf(exchange(testClient(), url))
  expect(error).toMatchObject({ fault: 'protocol', sent: false })
  expect(error.message).toContain(says)
  expect(error.message).not.toContain('hunter2')
})

it.each([{ X: 'a\r\nY: b' }, { X: 'a\nb' }, { 'X\r\n': 'a' }, { X: 'a\u0000' }, { 'a b': 'c' }, { X: '€' }])(
  'a request is not sent with the header %j',
  async (headers) => {
    const server = await serveHttp((_request, response) => response.end())
    const error = await networkErrorOf(exchange(testClient(), server.origin, { headers }))
    expect(error).toMatchObject({ fault: 'protocol', sent: false })
    expect(server.sockets).toHaveLength(0)
  },
)

it('a response resolves with any status, redirects included', async () => {
  for (const status of [204, 301, 302, 307, 308, 401, 404, 500, 503]) {
    const server = await serveHttp((_request, response) =>
      response.writeHead(status, { Location: '/elsewhere' }).end(),
    )
    expect((await exchange(testClient(), server.origin)).status).toBe(status)
    expect(server.sockets).toHaveLength(1)
  }
})

it('a response may have a head of up to 128 KB', async () => {
  const server = await serveHttp((request, response) => {
    response.writeHead(200, { 'X-Large': 'x'.repeat(Number(request.url?.slice(1))) }).end('a')
  })
  expect((await exchange(testClient(), `${server.origin}/100000`)).text).toBe('a')
  const error = await networkErrorOf(exchange(testClient(), `${server.origin}/200000`))
  expect(error).toMatchObject({ fault: 'protocol', sent: true })
  expect(error.message).toContain('too large')
})

it('a response stops reading from the connection while its body is not read', async () => {
  let written = 0
  const chunk = Buffer.alloc(256 * 1024)
  const server = await serveHttp((_request, response) => {
    const write = (): void => {
      while (written < 40 * chunk.length) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', write)
      }
      response.end()
    }
    write()
  })
  const response = await testClient().send({ method: 'GET', url: server.origin, headers: {} })
  let settled = -1
  await vi.waitFor(
    () => {
      const before = settled
      settled = written
      expect(written).toBe(before)
    },
    { interval: 100 },
  )
  // The kernels' buffers hold a few MB; the process must not.
  expect(response.body.readableLength).toBeLessThan(1_000_000)
  expect(written).toBeLessThan(40 * chunk.length)
  let received = 0
  for await (const piece of response.body) {
    received += (piece as Buffer).length
    if (received < 2_000_000) await delay(1)
  }
  expect(received).toBe(40 * chunk.length)
})

it('connections are reused, the most recently used one first', async () => {
  const server = await serveHttp((_request, response) => response.end(String(response.socket?.remotePort)))
  const client = testClient()
  const first = await Promise.all([1, 2, 3].map(() => exchange(client, server.origin)))
  expect(new Set(first.map(({ text }) => text)).size).toBe(3)
  const later: string[] = []
  for (let round = 0; round < 5; round++) later.push((await exchange(client, server.origin)).text)
  expect(new Set(later).size).toBe(1)
  expect(server.sockets).toHaveLength(3)
})

it('connections are opened for every concurrent request', async () => {
  let waiting: (() => void)[] = []
  const server = await serveHttp((_request, response) => void waiting.push(() => response.end('a')))
  const client = testClient()
  const calls = Array.from({ length: 100 }, () => exchange(client, server.origin))
  await vi.waitFor(() => expect(waiting).toHaveLength(100))
  for (const answer of waiting) answer()
  waiting = []
  await Promise.all(calls)
  expect(server.sockets).toHaveLength(100)
})

it('connections reach localhost over IPv4 or IPv6', async () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'
  for (const host of ['127.0.0.1', '::1']) {
    const server = await serveRaw((socket) => socket.on('data', () => socket.write(answer)), host).catch(
      () => undefined,
    )
    // Not every machine has IPv6.
    if (server === undefined) continue
    expect((await exchange(testClient(), `http://localhost:${server.port}`)).text).toBe('hi')
    const inBrackets = host === '::1' ? '[::1]' : host
    expect((await exchange(testClient(), `http://${inBrackets}:${server.port}`)).text).toBe('hi')
  }
})

it('connections are all ended by close, and can be opened again', async () => {
  const seen: (string | undefined)[] = []
  const server = await serveHttp((request, response) => {
    seen.push(request.url)
    if (request.url === '/hang') return
    if (request.url === '/half') return void response.write('half')
    response.end('a')
  })
  const client = testClient()
  await exchange(client, server.origin)
  const hanging = networkErrorOf(exchange(client, `${server.origin}/hang`))
  const half = networkErrorOf(exchange(client, `${server.origin}/half`))
  await vi.waitFor(() => expect(seen).toEqual(expect.arrayContaining(['/hang', '/half'])))
  client.close()
  expect(await hanging).toMatchObject({ fault: 'aborted', sent: true })
  expect(await half).toMatchObject({ fault: 'aborted', sent: true })
  await vi.waitFor(() => expect(server.sockets.every(({ destroyed }) => destroyed)).toBe(true))
  expect((await exchange(client, server.origin)).text).toBe('a')
})
