import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { type HttpClient, type NetworkConfig, readBody } from './http-client.ts'
import { makeCertificates, type Certificates } from '../../tests/support/bridge/http/certificate-fixture.ts'
import {
  serveProxy,
  type ProxyOptions,
  type TestProxy,
} from '../../tests/support/bridge/http/proxy-fixture.ts'
import {
  exchange,
  networkErrorOf,
  onRequest,
  serveHttp,
  serveRaw,
  serveTls,
  testClient,
  type TestServer,
} from '../../tests/support/bridge/http/server-fixture.ts'

let certificates: Certificates
beforeAll(() => {
  certificates = makeCertificates()
})

interface Stage {
  server: TestServer
  proxy: TestProxy
  client: HttpClient
  /** The server's URL as known beyond the proxy. */
  url: string
}

async function stage(
  scheme: 'http' | 'https',
  listener: Parameters<typeof serveHttp>[0],
  options: Partial<ProxyOptions> = {},
  config: Partial<NetworkConfig> = {},
  certificate = certificates.valid,
): Promise<Stage> {
  const server = await (scheme === 'https' ? serveTls(certificate, listener) : serveHttp(listener))
  const proxy = await serveProxy({ targetPort: server.port, ...options })
  const credentials = options.credentials === undefined ? '' : 'user:pass%40word@'
  const kind = options.identity === undefined ? 'http' : 'https'
  const proxyUrl = `${kind}://${credentials}127.0.0.1:${proxy.port}`
  const client = testClient({
    ca: certificates.authority,
    allowHttp: true,
    proxy: { http: proxyUrl, https: proxyUrl, noProxy: undefined },
    ...config,
  })
  return { server, proxy, client, url: `${scheme}://mcp.test` }
}

describe.each(['http', 'https'] as const)('%s through a proxy', (scheme) => {
  const lineOf = (path: string): string =>
    scheme === 'https' ? 'CONNECT mcp.test:443' : `POST http://mcp.test${path}`

  it('a request through a proxy sends and receives, with user and password for the proxy alone', async () => {
    const seen: unknown[] = []
    const { url, client, proxy } = await stage(
      scheme,
      (request, response) => {
        const chunks: Buffer[] = []
        request.on('data', (chunk: Buffer) => chunks.push(chunk))
        request.on('end', () => {
          seen.push(request.method, request.url, Buffer.concat(chunks).toString(), request.headers)
          response
            .writeHead(201, ['X-A', '1', 'X-A', '2', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'])
            .end('hé')
        })
      },
      { credentials: 'user:pass@word' },
    )
    const answer = await exchange(client, `${url}/mcp?a=b#c`, {
      body: '{"é":1}',
      headers: { 'Mcp-Method': 'ping' },
    })
    expect(answer).toMatchObject({
      status: 201,
      text: 'hé',
      headers: { 'x-a': '1, 2', 'set-cookie': ['a=1', 'b=2'] },
    })
    const [method, path, body, headers] = seen as [string, string, string, Record<string, string>]
    expect([method, path, body]).toEqual(['POST', '/mcp?a=b', '{"é":1}'])
    expect(headers).toMatchObject({ host: 'mcp.test', 'mcp-method': 'ping', 'user-agent': 'drawbridge/test' })
    if (scheme === 'https') expect(headers).not.toHaveProperty('proxy-authorization')
    expect(headers).toHaveProperty('accept-encoding', 'identity')
    expect(proxy.lines).toEqual([lineOf('/mcp?a=b')])
    await exchange(client, `${url}/mcp?a=b`)
    if (scheme === 'http') return
    // undici may open a second tunnel while it tidies the first up, but not one for each request.
    for (let round = 0; round < 5; round++) await exchange(client, url)
    expect(proxy.lines.length).toBeLessThan(4)
  })

  it.each<[inAddress: string, sent: string]>([
    ['jo:secret', 'jo:secret'],
    ['jo:p%40ss%3Aword', 'jo:p@ss:word'],
    ['jo:100%sure', 'jo:100%sure'],
    ['jo:%', 'jo:%'],
    ['a%zz:%4', 'a%zz:%4'],
    ['jo:50%25', 'jo:50%'],
    ['jo:p@ss', 'jo:p@ss'],
    ['jo:p\u00E4ss', 'jo:p\u00C3\u00A4ss'],
    ['jo:p%E4ss', 'jo:p\u00E4ss'],
    ['jo:%00', 'jo:\0'],
    ['jo', 'jo:'],
    [':only', ':only'],
  ])('a request gives the proxy the user and password in %j as curl does', async (inAddress, sent) => {
    const { proxy, url } = await stage(scheme, (_request, response) => response.end('there'))
    const address = `http://${inAddress}@127.0.0.1:${proxy.port}`
    const client = testClient({
      ca: certificates.authority,
      allowHttp: true,
      proxy: { http: address, https: address, noProxy: undefined },
    })
    expect((await exchange(client, url)).text).toBe('there')
    expect(proxy.credentials[0]).toBe(sent)
  })

  it.each<[schemes: string, message: RegExp, nextStep: RegExp]>([
    ['NTLM', scheme === 'https' ? /wants NTLM \(407\).* no password/ : /\(407\)/, /px or cntlm/],
    [
      'Negotiate, NTLM',
      scheme === 'https' ? /wants Negotiate or NTLM/ : /\(407\)/,
      /local proxy.*name that with --proxy/,
    ],
    ['Basic realm="p", NTLM', /user name and password/, /USER:PASSWORD@127/],
  ])('a request says what helps at a proxy that offers %s', async (schemes, message, nextStep) => {
    const { url, client } = await stage(scheme, (_request, response) => response.end(), { schemes })
    const error = await networkErrorOf(exchange(client, url))
    expect(error).toMatchObject({ fault: 'proxy', sent: false })
    expect(error.message).toMatch(message)
    expect(error.nextStep).toMatch(nextStep)
  })

  it('a request reports that the proxy requires a password, without revealing one, and keeps no connection to it', async () => {
    const { url, client, proxy } = await stage(scheme, (_request, response) => response.end(), {
      credentials: 'user:other',
    })
    const error = await networkErrorOf(exchange(client, `${url}/secret-path`))
    expect(error).toMatchObject({ fault: 'proxy', sent: false, origin: url })
    expect(error.message).toContain('(407)')
    expect(inspect(error, { depth: 9 })).not.toMatch(/pass@word|pass%40word|cGFzc0B3b3Jk|secret-path/)
    if (scheme === 'https')
      await expect.poll(() => proxy.sockets.every(({ destroyed }) => destroyed)).toBe(true)
  })

  it('a request reports a proxy that cannot be reached', async () => {
    const gone = await serveRaw(() => {})
    await gone.close()
    for (const proxyUrl of [`http://user:hunter2@127.0.0.1:${gone.port}`, `127.0.0.1:${gone.port}`]) {
      const client = testClient({ allowHttp: true, proxy: { http: proxyUrl, https: proxyUrl, noProxy: '' } })
      const error = await networkErrorOf(exchange(client, `${scheme}://mcp.test/`))
      expect(error).toMatchObject({ fault: 'proxy', sent: false, origin: `${scheme}://mcp.test` })
      expect(error.message).toContain(`127.0.0.1:${gone.port} refused the connection`)
      expect(inspect(error, { depth: 9 })).not.toContain('hunter2')
    }
  })

  it('a request connects directly to hosts of NO_PROXY', async () => {
    const { server, proxy, client } = await stage(scheme, (_request, response) => response.end('straight'))
    expect((await exchange(client, server.origin)).text).toBe('straight')
    expect(proxy.lines).toEqual([])
  })

  it.each(['through it', 'straight'])(
    'a request passes aborts on through a proxy, at each moment, %s',
    async (way) => {
      const seen: (string | undefined)[] = []
      const used: Socket[] = []
      const listener: Parameters<typeof serveHttp>[0] = (request, response) => {
        seen.push(request.url)
        used.push(request.socket)
        if (request.url === '/half') response.write('half')
      }
      const noLimits = { headersTimeoutMs: 0, bodyTimeoutMs: 0 }
      const { client, server, ...beyond } = await stage(scheme, listener, {}, noLimits)
      const url = way === 'straight' ? server.origin : beyond.url
      const early = exchange(client, url, { signal: AbortSignal.abort() })
      expect(await networkErrorOf(early)).toMatchObject({ fault: 'aborted', sent: false })
      const connecting = new AbortController()
      const first = networkErrorOf(exchange(client, `${url}/never`, { signal: connecting.signal }))
      connecting.abort()
      expect(await first).toMatchObject({ fault: 'aborted', sent: false })
      const waiting = new AbortController()
      const second = networkErrorOf(exchange(client, `${url}/hang`, { signal: waiting.signal }))
      await vi.waitFor(() => expect(seen).toContain('/hang'))
      waiting.abort()
      expect(await second).toMatchObject({ fault: 'aborted', sent: true })
      const reading = new AbortController()
      const response = await client.send({
        method: 'GET',
        url: `${url}/half`,
        headers: {},
        signal: reading.signal,
      })
      const third = networkErrorOf(readBody(response, 100))
      reading.abort()
      expect(await third).toMatchObject({ fault: 'aborted', sent: true })
      expect(seen).toEqual(['/hang', '/half'])
      await vi.waitFor(() => expect(used.every(({ destroyed }) => destroyed)).toBe(true))
    },
  )
})

it.each([
  ['resets before it answers', 'reset', ''],
  ['resets within the body', 'reset', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'],
  ['speaks no HTTP', 'protocol', 'SSH-2.0-OpenSSH\r\n\r\n'],
])('a request through a proxy reports a server that %s', async (_name, fault, text) => {
  const end = (socket: Socket): void => void (fault === 'reset' ? socket.resetAndDestroy() : socket.end())
  const server = await serveRaw((socket) => onRequest(socket, () => socket.write(text, () => end(socket))))
  // As the proxy itself, for a raw answer.
  const proxyUrl = `http://127.0.0.1:${server.port}`
  const client = testClient({ allowHttp: true, proxy: { http: proxyUrl, https: undefined, noProxy: '' } })
  expect(await networkErrorOf(exchange(client, 'http://mcp.test/secret'))).toMatchObject({
    fault,
    sent: true,
  })
  expect(server.sockets).toHaveLength(1)
})

it.each([
  { connectAnswer: 403, says: 'does not allow a connection to mcp.test (403)' },
  { connectAnswer: 502, says: 'could not reach mcp.test (502)' },
])('a tunnel that the proxy refuses with $connectAnswer is reported', async ({ connectAnswer, says }) => {
  const { url, client } = await stage('https', () => {}, { connectAnswer })
  const error = await networkErrorOf(exchange(client, url))
  expect(error).toMatchObject({ fault: 'proxy', sent: false })
  expect(error.message).toContain(says)
})

it('a tunnel is given up when the proxy never answers', async () => {
  const { url, client } = await stage('https', () => {}, { connectAnswer: 'hang' }, { connectTimeoutMs: 80 })
  expect(await networkErrorOf(exchange(client, url))).toMatchObject({
    fault: 'connect_timeout',
    sent: false,
  })
})

it('a tunnel is not used for an aborted request when it opens later', async () => {
  const seen: (string | undefined)[] = []
  let open!: () => void
  const gate = new Promise<void>((resolve) => (open = resolve))
  const { url, client, proxy } = await stage(
    'https',
    (request, response) => {
      seen.push(request.url)
      response.end('a')
    },
    { gate },
  )
  const abort = new AbortController()
  const sent = networkErrorOf(exchange(client, `${url}/never`, { signal: abort.signal }))
  await vi.waitFor(() => expect(proxy.lines).toHaveLength(1))
  abort.abort()
  expect(await sent).toMatchObject({ fault: 'aborted', sent: false })
  open()
  for (let round = 0; round < 3; round++) await exchange(client, `${url}/after`)
  expect(seen).toEqual(['/after', '/after', '/after'])
})

it('a tunnel is not opened again after it broke off', async () => {
  const { url, client, proxy } = await stage('https', () => {}, { connectAnswer: 'close' })
  expect(await networkErrorOf(exchange(client, url))).toMatchObject({ fault: 'proxy', sent: false })
  await delay(50)
  expect(proxy.lines).toHaveLength(1)
})

it('a tunnel reports an untrusted certificate of the server', async () => {
  const { url, client } = await stage('https', () => {}, {}, { ca: undefined })
  const error = await networkErrorOf(exchange(client, url))
  expect(error).toMatchObject({ fault: 'tls', sent: false })
  expect(error.message).toContain('the certificate of mcp.test comes from an authority that is not trusted')
})

it('a tunnel reports a certificate for another host name', async () => {
  const { url, client, proxy } = await stage('https', () => {}, {}, {}, certificates.misnamed)
  const error = await networkErrorOf(exchange(client, url))
  expect(error).toMatchObject({ fault: 'tls', sent: false })
  expect(error.message).toContain('the certificate of mcp.test is for another name')
  expect(proxy.lines).toHaveLength(1)
})

it('a tunnel is opened only once more after it broke during the TLS handshake', async () => {
  const server = await serveRaw((socket) => socket.once('data', () => socket.resetAndDestroy()))
  const proxy = await serveProxy({ targetPort: server.port })
  const proxyUrl = `http://127.0.0.1:${proxy.port}`
  const client = testClient({ proxy: { http: undefined, https: proxyUrl, noProxy: undefined } })
  const error = await networkErrorOf(exchange(client, 'https://mcp.test/'))
  expect(error).toMatchObject({ fault: 'reset', sent: false })
  await delay(50)
  expect(proxy.lines).toHaveLength(2)
})

it('a tunnel goes through a proxy that is reached over TLS', async () => {
  const { url, client } = await stage('https', (_request, response) => response.end('a'), {
    identity: certificates.valid,
    credentials: 'user:pass@word',
  })
  expect((await exchange(client, url)).text).toBe('a')
  const bad = await stage('https', () => {}, { identity: certificates.misnamed })
  const error = await networkErrorOf(exchange(bad.client, bad.url))
  expect(error).toMatchObject({ fault: 'proxy', sent: false })
})

describe('the choice', () => {
  it.each(['socks5://127.0.0.1:1', 'http://', 'http://a b'])(
    'a client refuses the proxy %s',
    async (proxyUrl) => {
      const client = testClient({ proxy: { http: undefined, https: proxyUrl, noProxy: '' } })
      expect(await networkErrorOf(exchange(client, 'https://mcp.test'))).toMatchObject({
        fault: 'proxy',
        sent: false,
      })
    },
  )
})
