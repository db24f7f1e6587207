import { once } from 'node:events'
import { createServer as createPlainServer, type RequestListener, type Server } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, it, vi } from 'vitest'
import type { FetchFailure, FetchOutcome } from '../core/clients/client-fetch.ts'
import { createGuardedFetch, type GuardedFetchConfig } from './guarded-fetch.ts'
import { createSelfSignedCertificate } from '../../tests/support/server/self-signed-certificate.ts'

const certificate = createSelfSignedCertificate(['client.example', 'localhost'])
const document = JSON.stringify({ client_id: 'x' })

const open: (Server | TcpServer)[] = []
afterEach(async () => {
  for (const server of open.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

async function listen(server: Server | TcpServer, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  open.push(server)
  return (server.address() as AddressInfo).port
}

const serve = (listener: RequestListener): Promise<number> => listen(createServer(certificate, listener))

const answerDocument: RequestListener = (_request, response) => {
  response.setHeader('content-type', 'application/json').end(document)
}

/** Creates a guarded fetch that may reach loopback, where every name resolves to. */
function fetchFrom(
  url: string,
  config: Partial<GuardedFetchConfig> = {},
  query: { maxBytes?: number } = {},
): Promise<FetchOutcome> {
  const guarded = createGuardedFetch({
    userAgent: 'drawbridge-server/test',
    allowLoopback: true,
    timeLimitMs: 3000,
    resolve: async () => ['127.0.0.1'],
    certificateAuthority: certificate.cert,
    ...config,
  })
  return guarded({ url, maxBytes: 5120, ...query })
}

async function failure(outcome: Promise<FetchOutcome>): Promise<FetchFailure | undefined> {
  const result = await outcome
  return result.kind === 'failed' ? result.reason : undefined
}

it('a guarded fetch gets a document by TLS under its host name, with only the headers it needs', async () => {
  const seen: Record<string, unknown>[] = []
  const port = await serve((request, response) => {
    seen.push({ url: request.url, ...request.headers })
    answerDocument(request, response)
  })
  const outcome = await fetchFrom(`https://client.example:${port}/client.json?v=1`)
  expect(outcome).toMatchObject({ kind: 'fetched', text: document })
  expect(seen).toEqual([
    {
      url: '/client.json?v=1',
      host: `client.example:${port}`,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'drawbridge-server/test',
      connection: 'keep-alive',
    },
  ])
})

it('a guarded fetch closes its connection after a document, however long the server would keep it', async () => {
  let isClosed = false
  const server = createServer(certificate, (request, response) => {
    request.socket.once('close', () => (isClosed = true))
    response.setHeader('keep-alive', 'timeout=600')
    answerDocument(request, response)
  })
  server.keepAliveTimeout = 0
  const port = await listen(server)
  await fetchFrom(`https://client.example:${port}/c`)
  await expect.poll(() => isClosed).toBe(true)
})

it('a guarded fetch takes an unrequested 304 for a redirect', async () => {
  const port = await serve((_request, response) => void response.writeHead(304).end())
  expect(await failure(fetchFrom(`https://client.example:${port}/c`))).toBe('redirected')
})

it('OAuth 2.1 1.5: a certificate for another name or by an unknown authority is not accepted', async () => {
  const port = await serve(answerDocument)
  expect(await failure(fetchFrom(`https://other.example:${port}/c`))).toBe('unreachable')
  expect(
    await failure(fetchFrom(`https://client.example:${port}/c`, { certificateAuthority: undefined })),
  ).toBe('unreachable')
})

it.each<[rule: string, listener: RequestListener, reason: FetchFailure]>([
  [
    'MCP security SSRF: a redirect',
    (_, r) => void r.writeHead(302, { location: 'http://127.0.0.1/' }).end(),
    'redirected',
  ],
  ['404', (_, r) => void r.writeHead(404).end(document), 'not_found'],
  ['410', (_, r) => void r.writeHead(410).end(document), 'not_found'],
  ['403', (_, r) => void r.writeHead(403).end(document), 'refused'],
  ['201', (_, r) => void r.writeHead(201, { 'content-type': 'application/json' }).end(document), 'refused'],
  ['500', (_, r) => void r.writeHead(500).end(document), 'unreachable'],
  ['no content type', (_, r) => void r.end(document), 'wrong_type'],
  ['HTML', (_, r) => void r.setHeader('content-type', 'text/html').end(document), 'wrong_type'],
  [
    'a type that only begins with JSON',
    (_, r) => void r.setHeader('content-type', 'application/jsonp').end(document),
    'wrong_type',
  ],
  [
    'bytes that are no UTF-8',
    (_, r) => void r.setHeader('content-type', 'application/json').end(Buffer.from([0x22, 0xff, 0x22])),
    'wrong_type',
  ],
  [
    'a gzip bomb: 10 MB in 10 kB, not even opened',
    (_, r) =>
      void r
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(10_000_000, 32))),
    'wrong_type',
  ],
  [
    'a length over the limit',
    (_, r) => void r.setHeader('content-type', 'application/json').end('x'.repeat(5121)),
    'too_large',
  ],
  [
    'CIMD 6.6: a body without end',
    (_, r) => {
      r.setHeader('content-type', 'application/json')
      const write = (): void => {
        while (!r.destroyed && r.write('x'.repeat(1000)));
      }
      r.on('drain', write)
      write()
    },
    'too_large',
  ],
  [
    'a connection that ends in the middle',
    (_, r) => {
      r.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      r.write('{')
      setImmediate(() => r.destroy())
    },
    'unreachable',
  ],
])('CIMD 4.1: a guarded fetch fails on %s', async (_rule, listener, reason) => {
  const port = await serve(listener)
  expect(await failure(fetchFrom(`https://client.example:${port}/c`))).toBe(reason)
})

it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/jwk-set+json'])(
  'a guarded fetch accepts %s, up to the limit',
  async (type) => {
    const longest = 'x'.repeat(5120)
    const port = await serve((_, response) => void response.setHeader('content-type', type).end(longest))
    expect(await fetchFrom(`https://client.example:${port}/c`)).toMatchObject({ kind: 'fetched' })
  },
)

it.each<[rule: string, listener: RequestListener]>([
  ['no answer', () => {}],
  [
    'a body that comes drop by drop',
    (_, response) => {
      response.setHeader('content-type', 'application/json')
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
    },
  ],
])('a guarded fetch limits the total time: %s', async (_rule, listener) => {
  const port = await serve(listener)
  const url = `https://client.example:${port}/c`
  expect(await failure(fetchFrom(url, { timeLimitMs: 150 }))).toBe('too_slow')
})

it('a guarded fetch limits the total time: a server that never speaks TLS, and a name server that never answers', async () => {
  const silent = await listen(createTcpServer((socket) => void socket.resume()))
  const limit = { timeLimitMs: 150 }
  expect(await failure(fetchFrom(`https://client.example:${silent}/c`, limit))).toBe('too_slow')
  const resolve = (): Promise<never> => new Promise(() => {})
  expect(await failure(fetchFrom('https://client.example/c', { ...limit, resolve }))).toBe('too_slow')
})

it('MCP auth Abuse-Protection, MCP security SSRF, CIMD 6.5: DNS rebinding: the connection goes to the checked address, even if the name server then returns another', async () => {
  const reached: string[] = []
  const at = (address: string) =>
    createServer(certificate, (request, response) => {
      reached.push(address)
      answerDocument(request, response)
    })
  const port = await listen(at('127.0.0.1'))
  await listen(at('127.0.0.2'), '127.0.0.2', port)
  const answers = ['127.0.0.1', '127.0.0.2', '127.0.0.2']
  let asked = 0
  const resolve = async (): Promise<string[]> => [answers[asked++] ?? '']
  expect(await fetchFrom(`https://client.example:${port}/c`, { resolve })).toMatchObject({
    kind: 'fetched',
  })
  expect(reached).toEqual(['127.0.0.1'])
  expect(asked).toBe(1)
})

it.each(['https://client.example:25/c', 'https://client.example:80/c', 'https://93.184.216.34:22/c'])(
  'a guarded fetch refuses every other port than https in production: %s',
  async (url) => {
    const resolve = (): Promise<string[]> => Promise.reject(new Error('A name server was asked.'))
    expect(await failure(fetchFrom(url, { allowLoopback: false, resolve }))).toBe('forbidden_url')
  },
)

it.each(['', '/', '/oauth/authorize?client_id=x', '//oauth/authorize', '?x'])(
  'a guarded fetch does not fetch from the server itself: BASE_URL followed by %j',
  async (rest) => {
    const ownUrl = 'https://client.example/base'
    const resolve = async (): Promise<string[]> => []
    expect(await failure(fetchFrom(`${ownUrl}${rest}`, { ownUrl, resolve }))).toBe('forbidden_url')
    expect(await failure(fetchFrom(`${ownUrl}-other/c`, { ownUrl, resolve }))).toBe('unknown_host')
  },
)

it('a guarded fetch checks certificates even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
  const port = await serve(answerDocument)
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  try {
    const url = `https://client.example:${port}/c`
    expect(await failure(fetchFrom(url, { certificateAuthority: undefined }))).toBe('unreachable')
  } finally {
    vi.unstubAllEnvs()
  }
})

it.each<[rule: string, addresses: string[]]>([
  ['the metadata service', ['169.254.169.254']],
  ['loopback, which development allows', ['127.0.0.1']],
  ['one private address among public ones', ['8.8.8.8', '10.0.0.1']],
  ['one IPv6 loopback among public ones', ['8.8.8.8', '::1']],
  ['NAT64 of a private address', ['64:ff9b::10.0.0.1']],
  ['something that is no address', ['client.example']],
])('MCP security SSRF: all addresses of the answer must be public: %s', async (_rule, addresses) => {
  const config = { allowLoopback: false, resolve: async () => addresses }
  expect(await failure(fetchFrom('https://client.example/c', config))).toBe('forbidden_address')
})

it.each([
  'https://127.0.0.1/c',
  'https://0x7f000001/c',
  'https://017700000001/c',
  'https://[::1]/c',
  'https://[::ffff:7f00:1]/c',
  'https://[64:ff9b::7f00:1]/c',
  'https://169.254.169.254/latest/meta-data',
  'https://①②⑦.⓪.⓪.①/c',
  'https://localhost/c',
  'https://LOCALHOST./c',
  'https://a.localhost/c',
])('MCP security SSRF, CIMD 6: an address or local name in the URL is never reached: %s', async (url) => {
  const resolve = (): Promise<string[]> => Promise.reject(new Error('A name server was asked.'))
  expect(await failure(fetchFrom(url, { allowLoopback: false, resolve }))).toBe('forbidden_address')
})

it.each([
  'http://client.example/c',
  'ftp://client.example/c',
  'data:application/json,{}',
  'https://user@client.example/c',
  'https://user:password@client.example/c',
  'https://:password@client.example/c',
  'client.example/c',
  '',
])('MCP security SSRF, CIMD 6.5: only https, and no credentials: %s', async (url) => {
  expect(await failure(fetchFrom(url, { allowLoopback: false }))).toBe('forbidden_url')
})

it('a guarded fetch uses http in development, from loopback only', async () => {
  const port = await listen(createPlainServer(answerDocument))
  expect(await fetchFrom(`http://127.0.0.1:${port}/c`)).toMatchObject({ kind: 'fetched' })
  expect(await fetchFrom(`http://localhost:${port}/c`)).toMatchObject({ kind: 'fetched' })
  expect(await failure(fetchFrom(`http://client.example:${port}/c`))).toBe('forbidden_url')
  const resolve = async (): Promise<string[]> => ['10.0.0.1']
  expect(await failure(fetchFrom(`https://client.example:${port}/c`, { resolve }))).toBe('forbidden_address')
})

it('a guarded fetch tells an unknown name from a closed port', async () => {
  const nobody = await listen(createTcpServer(() => {}))
  await new Promise((resolve) => open.pop()?.close(resolve))
  expect(await failure(fetchFrom(`https://client.example:${nobody}/c`))).toBe('unreachable')
  for (const resolve of [async () => [], () => Promise.reject(new Error('ENOTFOUND'))]) {
    expect(await failure(fetchFrom('https://client.example/c', { resolve }))).toBe('unknown_host')
  }
})

it('a guarded fetch tries the next checked address if one does not answer', async () => {
  const port = await serve(answerDocument)
  const resolve = async (): Promise<string[]> => ['127.0.0.9', '127.0.0.1']
  expect(await fetchFrom(`https://client.example:${port}/c`, { resolve })).toMatchObject({
    kind: 'fetched',
  })
})
