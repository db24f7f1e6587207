import { connect } from 'node:net'
import { createSignal } from '@drawbridge/shared/async.ts'
import { afterEach, describe, expect, it } from 'vitest'
import type { ListenerLimits, RawRequest, RequestGate } from './guarded-server.ts'
import { type Listener, listen, type ListenerOptions } from './listener.ts'
import { rawRefusal } from './raw-response.ts'

let listener: Listener | undefined
afterEach(async () => {
  await listener?.close()
  listener = undefined
})

/** Methods and URLs of admitted requests. */
let served: string[] = []

async function open(options: ListenerOptions = {}): Promise<number> {
  served = []
  listener = await listen(
    async (request) => {
      served.push(`${request.method} ${request.url}`)
      return new Response('served')
    },
    { host: '127.0.0.1', port: 0 },
    options,
  )
  return listener.port
}

/** Sends raw bytes, and returns everything received until the connection ends. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text, 'latin1'))
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString()
    })
    socket.on('close', () => resolve(received))
    socket.on('error', () => {})
  })
}

const close = 'Connection: close\r\n\r\n'

it.each([
  ['HTTP/1.0', 'GET /x HTTP/1.0\r\n\r\n'],
  ['HTTP/1.1 with an empty Host', `GET /x HTTP/1.1\r\nHost:\r\n${close}`],
  ['HTTP/1.0 that expects 100-continue', 'GET /x HTTP/1.0\r\nExpect: 100-continue\r\n\r\n'],
])(
  'RFC 9112 3.3: a request of %s names no host, and is for the address that it was sent to',
  async (_, text) => {
    const port = await open()
    expect(await exchange(port, text)).toMatch(/^HTTP\/1.1 200 /m)
    expect(served).toEqual([`GET http://127.0.0.1:${port}/x`])
  },
)

describe('a listener that takes encoded slashes', () => {
  const form = { encodedSlashes: true }

  it('a listener that takes encoded slashes accepts them in a name, and passes them on unchanged', async () => {
    const port = await open({ form })
    const path = '/clients/https%3A%2F%2Fa.example%2fb..c/.d'
    expect(await exchange(port, `DELETE ${path} HTTP/1.1\r\nHost: a\r\n${close}`)).toMatch(/^HTTP\/1.1 200 /)
    expect(served).toEqual([`DELETE http://a${path}`])
  })

  it.each([
    '/x/../y',
    '/x/%2e%2e/y',
    '/x/..%2fy',
    '/x/%2e.%2Fy',
    '/x%2f..',
    '/x%2F.%2Fy',
    '/%2e',
    '/x%5c..',
    '/x%00',
  ])('a listener that takes encoded slashes still refuses %s', async (path) => {
    const port = await open({ form })
    expect(await exchange(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n${close}`)).toMatch(/^HTTP\/1.1 400 /)
    expect(served).toEqual([])
  })
})

it.each<[name: string, status: number, text: string]>([
  // RFC 9110 section 9.1
  ['TRACE', 501, `TRACE / HTTP/1.1\r\nHost: a\r\n${close}`],
  ['CONNECT', 501, `CONNECT a:443 HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a method nobody knows', 501, `BREW / HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a method in lower case', 501, `get / HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a method that only Node knows', 501, `PROPFIND / HTTP/1.1\r\nHost: a\r\n${close}`],
  // RFC 9112 section 3
  ['no HTTP', 400, 'hello\r\n\r\n'],
  ['TLS', 400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['HTTP/2 that was not asked for', 400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['another version', 505, `GET / HTTP/3.7\r\nHost: a\r\n${close}`],
  ['HTTP/0.9', 400, 'GET /\r\n\r\n'],
  ['a target that is too long', 414, `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a fragment', 400, `GET /mcp#x HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a fragment in the query', 400, `GET /mcp?a#x HTTP/1.1\r\nHost: a\r\n${close}`],
  ['no path', 400, `GET mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  ['the asterisk form', 400, `OPTIONS * HTTP/1.1\r\nHost: a\r\n${close}`],
  ['the authority form', 400, `GET a:80 HTTP/1.1\r\nHost: a\r\n${close}`],
  ['another scheme', 400, `GET ftp://a/mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  ['user information', 400, `GET http://a@b/mcp HTTP/1.1\r\nHost: b\r\n${close}`],
  // RFC 9112 section 3.2
  ['no Host', 400, `GET / HTTP/1.1\r\n${close}`],
  ['two Hosts in HTTP/1.0', 400, 'GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n'],
  ['two Hosts', 400, `GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n${close}`],
  ['the same Host twice', 400, `GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n${close}`],
  ['two Hosts in one', 400, `GET / HTTP/1.1\r\nHost: a, b\r\n${close}`],
  ['a Host with a blank', 400, `GET / HTTP/1.1\r\nHost: a b\r\n${close}`],
  ['a Host with a port out of range', 400, `GET / HTTP/1.1\r\nHost: a:99999\r\n${close}`],
  ['a Host with a path', 400, `GET / HTTP/1.1\r\nHost: a/b\r\n${close}`],
  ['a Host with user information', 400, `GET / HTTP/1.1\r\nHost: a@b\r\n${close}`],
  // RFC 3986 section 6.2.2: other programs read these as another path
  ['a dot segment', 400, `GET /x/../mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a dot segment at the end', 400, `GET /mcp/.. HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a single dot', 400, `GET /./mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  ['an encoded dot segment', 400, `GET /x/%2e%2e/mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a half encoded dot segment', 400, `GET /x/.%2E/mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  ['an encoded slash', 400, `GET /oauth%2ftoken HTTP/1.1\r\nHost: a\r\n${close}`],
  ['an encoded backslash', 400, `GET /oauth%5Ctoken HTTP/1.1\r\nHost: a\r\n${close}`],
  ['an encoded NUL', 400, `GET /mcp%00 HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a backslash', 400, `GET /x\\mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a byte that is no ASCII', 400, `GET /m\xe4p HTTP/1.1\r\nHost: a\r\n${close}`],
  ['a dot segment in the absolute form', 400, `GET http://a/x/../mcp HTTP/1.1\r\nHost: a\r\n${close}`],
  // RFC 9112 sections 6 and 11.2: smuggling
  ['two lengths', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
  ['lengths in a list', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na'],
  ['a length with a sign', 400, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na'],
  [
    'length and chunks',
    400,
    'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  [
    'chunks and then another coding',
    400,
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
  ],
  [
    'another coding and then chunks',
    501,
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  ],
  [
    'a coding nobody knows',
    501,
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
  ],
  ['chunks in HTTP/1.0', 501, 'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['a blank before the colon', 400, `GET / HTTP/1.1\r\nHost : a\r\n${close}`],
  ['a folded header', 400, `GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n${close}`],
  ['a line that ends in CR alone', 400, `GET / HTTP/1.1\r\nHost: a\r\nX: a\rY: b\r\n${close}`],
  ['a NUL in a header', 400, `GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n${close}`],
  ['too many headers', 431, `GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(201)}${close}`],
  ['very many headers', 431, `GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(20_000)}${close}`],
  // RFC 9110 sections 8.4 and 10.1.1
  [
    'an encoded body',
    415,
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n${close}a`,
  ],
  ['an expectation that is not met', 417, `GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n${close}`],
])('a malformed request is refused and never reaches the handler: %s: %i', async (_name, status, text) => {
  const answer = await exchange(await open(), text)
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(answer).toContain('{"error":"invalid_request","error_description":"')
  expect(answer.toLowerCase()).toContain('content-type: application/json')
  expect(answer).not.toMatch(/ at .*\.[mt]s|node:internal/)
  expect(served).toEqual([])
})

it('a listener answers more than 144 KiB of headers with 431 and a reason', async () => {
  const answer = await exchange(
    await open(),
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(150_000)}\r\n\r\n`,
  )
  expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  expect(answer).toContain('larger than 147456 bytes')
})

describe('what is let in', () => {
  it.each<[name: string, seen: string, text: string]>([
    ['HTTP/1.0 with a Host', 'GET http://a/mcp', 'GET /mcp HTTP/1.0\r\nHost: a\r\n\r\n'],
    // RFC 9112 section 3.2.2
    ['the absolute form', 'GET http://a/mcp', `GET http://a/mcp HTTP/1.1\r\nHost: b\r\n${close}`],
    ['an escape that means nothing', 'GET http://a/m%63p', `GET /m%63p HTTP/1.1\r\nHost: a\r\n${close}`],
    ['two slashes', 'GET http://a//mcp', `GET //mcp HTTP/1.1\r\nHost: a\r\n${close}`],
    ['a query with brackets', 'GET http://a/x?a[b]=c|d', `GET /x?a[b]=c|d HTTP/1.1\r\nHost: a\r\n${close}`],
    [
      'an address in a query',
      'GET http://a/x?u=http://b/../c',
      `GET /x?u=http://b/../c HTTP/1.1\r\nHost: a\r\n${close}`,
    ],
    [
      'dots in a name',
      'GET http://a/.well-known/x..y',
      `GET /.well-known/x..y HTTP/1.1\r\nHost: a\r\n${close}`,
    ],
  ])('a listener accepts %s', async (_name, seen, text) => {
    expect(await exchange(await open(), text)).toMatch(/^HTTP\/1\.1 200 /)
    expect(served).toEqual([seen])
  })

  it.each<[name: string, headers: string]>([
    ['websocket', 'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n'],
    ['h2c', 'Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'],
  ])('an upgrade to %s is ignored: the answer is HTTP/1.1 (RFC 9110 section 7.8)', async (_name, headers) => {
    const answer = await exchange(await open(), `GET /mcp HTTP/1.1\r\nHost: a\r\n${headers}\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(answer.toLowerCase()).not.toContain('upgrade:')
  })

  it('RFC 9110 10.1.1: a listener sends 100 Continue before the response to a request that expects it', async () => {
    const answer = await exchange(
      await open(),
      `POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n${close}a`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
  })

  it('a listener names the program in no response', async () => {
    const answer = await exchange(await open(), `GET / HTTP/1.1\r\nHost: a\r\n${close}`)
    expect(answer.toLowerCase()).not.toMatch(/\r\n(?:server|x-powered-by|via):/)
  })
})

it('a listener reads nothing more from a connection after refusing a request for its framing', async () => {
  const port = await open()
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
  const answer = await exchange(
    port,
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${smuggled.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  )
  expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1)
  expect(served).toEqual([])
})

it('a listener closes the connection silently when rubbish follows a request that is still being answered', async () => {
  const finish = createSignal()
  listener = await listen(
    async () => {
      await finish.given
      return new Response('served')
    },
    { host: '127.0.0.1', port: 0 },
  )
  expect(await exchange(listener.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\nrubbish\r\n\r\n')).toBe('')
  finish.give()
})

it('a listener answers rubbish with 400 on a connection whose requests have all been answered', async () => {
  const port = await open()
  const received = await new Promise<string>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'))
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString()
      if (text.endsWith('served')) socket.write('rubbish\r\n\r\n')
    })
    socket.on('close', () => resolve(text))
  })
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400'])
})

describe('a gate', () => {
  const shut = rawRefusal(429, { code: 'too_many_requests', description: 'Later.' }, ['Retry-After', '1'])
  const seen: [method: string | undefined, status: number][] = []
  const gate: RequestGate = {
    refuse: ({ url }: RawRequest) => (url?.startsWith('/shut') ? shut : undefined),
    answered: ({ method }, status) => void seen.push([method, status]),
  }

  it('a gate answers before the request is checked, and keeps the connection', async () => {
    seen.length = 0
    const answer = await exchange(
      await open({ gate }),
      `POST /shut HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nabGET / HTTP/1.1\r\nHost: a\r\n${close}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
    expect(answer).toContain('\r\nRetry-After: 1\r\n')
    expect(answer).toContain('HTTP/1.1 200 ')
    expect(served).toHaveLength(1)
    expect(seen).toEqual([['GET', 200]])
  })

  it.each<[name: string, headers: string]>([
    ['of a length that is not worth reading', 'Content-Length: 70000\r\n'],
    ['of unknown length', 'Transfer-Encoding: chunked\r\n'],
  ])('a gate ends the connection over a body %s', async (_name, headers) => {
    const answer = await exchange(await open({ gate }), `POST /shut HTTP/1.1\r\nHost: a\r\n${headers}\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
    expect(answer).toContain('\r\nConnection: close\r\n')
  })

  it('a gate sends no 100 Continue to a refused request', async () => {
    const answer = await exchange(
      await open({ gate }),
      'POST /shut HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
  })

  it('a gate records bytes that are not a request as well', async () => {
    seen.length = 0
    const port = await open({ gate })
    await exchange(port, 'rubbish\r\n\r\n')
    await exchange(port, `GET /x/../y HTTP/1.1\r\nHost: a\r\n${close}`)
    expect(seen).toEqual([
      [undefined, 400],
      ['GET', 400],
    ])
  })
})

describe('time and number', () => {
  const limits: Partial<ListenerLimits> = { headersTimeoutMs: 50, requestTimeoutMs: 100, checkIntervalMs: 10 }

  it.each<[name: string, text: string]>([
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: a\r\n'],
    ['a body that never ends', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\na'],
  ])('%s are 408 (slow loris)', async (_name, text) => {
    listener = await listen(
      async (request) => new Response(await request.text()),
      { host: '127.0.0.1', port: 0 },
      { limits },
    )
    const answer = await exchange(listener.port, text)
    expect(answer === '' || answer.startsWith('HTTP/1.1 408 ')).toBe(true)
  })

  it('a listener closes a connection that sends nothing', async () => {
    await exchange(await open({ limits }), '')
    expect(served).toEqual([])
  })

  it('a listener opens no more connections than the maximum, and logs refused ones', async () => {
    const reported: [string, unknown][] = []
    const [begun, finish] = [createSignal(), createSignal()]
    listener = await listen(
      async () => {
        begun.give()
        await finish.given
        return new Response('served')
      },
      { host: '127.0.0.1', port: 0 },
      { limits: { maxConnections: 1 }, report: (event, fields) => void reported.push([event, fields]) },
    )
    const { port } = listener
    const first = exchange(port, `GET / HTTP/1.1\r\nHost: a\r\n${close}`)
    await begun.given
    for (let index = 0; index < 3; index += 1) {
      expect(await exchange(port, `GET / HTTP/1.1\r\nHost: a\r\n${close}`)).toBe('')
    }
    finish.give()
    expect(await first).toContain('served')
    expect(reported).toEqual([['connections_refused', { limit: 1 }]])
  })
})
