import { getEventListeners } from 'node:events'
import { gzipSync } from 'node:zlib'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { FallbackTransport, SessionTransport } from './session-transport.ts'
import { readMessageText, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Received } from '../../tests/support/remote/received.ts'
import { startServer } from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../tests/support/remote/remote.ts'
import {
  createHarness,
  exchange,
  forTest,
  type TransportHarness,
} from '../../tests/support/bridge/proxy/transport-harness.ts'
import { until } from '../../tests/support/until.ts'

let server: Remote
let harness: TransportHarness
let transport: SessionTransport

beforeEach(async () => {
  server = await startServer({ tools: [] })
  harness = createHarness()
  transport = createTransport()
})

function createTransport(): SessionTransport {
  const config = { serverUrl: server.url, headers: { 'X-Mine': '1' }, retryMs: 1000 }
  return forTest(new SessionTransport(config, harness.ports))
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
} as const
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const
const call = (id: number | string, name = 'echo') =>
  ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } }) as const
const ask = (method: string, params: JsonObject) => ({ jsonrpc: '2.0', id: method, method, params }) as const
const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' }) as const
const ok = (id: unknown, more = '') =>
  `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${more}}}\n\n`
const notice = (text: string) => `data: {"jsonrpc":"2.0","method":"notifications/${text}"}\n\n`

async function open(): Promise<void> {
  await exchange(transport, initialize)
  await exchange(transport, initialized)
}

/** Answers calls by this, everything else as usual. */
function answerCalls(answer: (request: Received, id: unknown) => void): void {
  server.settings.handle = (request) => {
    if (request.method !== 'POST' || request.body['method'] !== 'tools/call') return false
    answer(request, request.body['id'])
    return true
  }
}

describe('opening a session', () => {
  const ended = (): unknown[] =>
    server.received
      .filter(({ method }) => method === 'DELETE')
      .map(({ headers }) => headers['mcp-session-id'])

  it('a second initialize ends the first session, at the server and on its stream', async () => {
    await open()
    await until(() => server.streams.size === 1)
    expect(ended()).toEqual([])
    await exchange(transport, { ...initialize, id: 'again' })
    await until(() => ended().length === 1)
    expect(ended()).toEqual(['session-1'])
    await until(() => server.streams.size === 0)
    await exchange(transport, initialized)
    await until(() => server.streams.size === 1)
    expect(await exchange(transport, list(1))).toHaveLength(1)
    expect(server.received.at(-1)?.headers['mcp-session-id']).toBe('session-2')
  })

  it('a second initialize that fails keeps the first session', async () => {
    await open()
    server.settings.handle = (request) => {
      if (request.body?.['id'] !== 'again') return false
      request.json(200, { jsonrpc: '2.0', id: 'again', error: { code: -32_000, message: 'No.' } })
      return true
    }
    await expect(exchange(transport, { ...initialize, id: 'again' })).rejects.toMatchObject({
      fault: 'refused',
      response: { envelope: { isError: true } },
    })
    expect(await exchange(transport, list(1))).toHaveLength(1)
    expect(server.received.at(-1)?.headers['mcp-session-id']).toBe('session-1')
    expect(ended()).toEqual([])
  })

  const openedStream = ({ response }: Received, text: string): void => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Mcp-Session-Id': 'half' })
    response.write(text, () => response.destroy())
  }

  it('an initialize whose stream is cut is resumed in the session that its header names', async () => {
    const result = '"protocolVersion":"2025-11-25"'
    server.settings.handle = (request) => {
      if (request.method === 'GET') request.events(ok(0, result))
      else if (request.method === 'POST') openedStream(request, `id: e1\n${notice('one')}`)
      return request.method !== 'DELETE'
    }
    const answers = await exchange(transport, initialize)
    expect(answers.at(-1)).toMatchObject({ result: { protocolVersion: '2025-11-25' } })
    const resumed = server.received.find(({ method }) => method === 'GET')
    expect(resumed?.headers).toMatchObject({ 'last-event-id': 'e1', 'mcp-session-id': 'half' })
    expect(ended()).toEqual([])
  })

  it('an initialize whose stream is cut for good is sent again, and its session is ended', async () => {
    let posts = 0
    server.settings.handle = (request) => {
      if (request.method !== 'POST' || (posts += 1) > 1) return false
      openedStream(request, notice('one'))
      return true
    }
    expect(await exchange(transport, initialize)).toHaveLength(2)
    await until(() => ended().length === 1)
    expect(ended()).toEqual(['half'])
  })

  it('requests carry the configured headers, the session and the revision', async () => {
    expect(await exchange(transport, initialize)).toMatchObject([
      { id: 0, result: { protocolVersion: '2025-11-25' } },
    ])
    await exchange(transport, initialized)
    expect(await exchange(transport, call('a'))).toEqual([
      { jsonrpc: '2.0', id: 'a', result: { content: [{ type: 'text', text: 'null' }] } },
    ])
    await until(() => server.streams.size === 1)
    const [first, second, third] = server.received.filter(({ method }) => method === 'POST')
    expect(first?.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'x-mine': '1',
    })
    expect(first?.headers).not.toHaveProperty('mcp-session-id')
    expect(first?.headers).not.toHaveProperty('mcp-protocol-version')
    for (const later of [second, third])
      expect(later?.headers).toMatchObject({
        'mcp-session-id': 'session-1',
        'mcp-protocol-version': '2025-11-25',
      })
  })

  it('cookies of a load balancer are returned', async () => {
    server.set({ cookies: true })
    await open()
    expect(await exchange(transport, list(1))).toHaveLength(1)
  })

  it('a GET stream may be silent for longer than a response', async () => {
    harness = createHarness(1, 300)
    transport = createTransport()
    await open()
    await until(() => server.streams.size === 1)
    // Opened later, and given up: so would the stream have been.
    answerCalls(({ events }) => void events(': and no more\n\n'))
    await expect(exchange(transport, call(5))).rejects.toMatchObject({ cause: { fault: 'body_timeout' } })
    server.changeTools()
    await until(() => harness.unsolicited.length === 1)
    expect(harness.notes).not.toContain('GET stream ended')
    expect(server.log().filter((name) => name === 'GET')).toHaveLength(1)
  })

  it('a server needs neither sessions nor a GET stream', async () => {
    server.settings.sessions = false
    server.settings.streamStatus = 405
    await open()
    await until(() => server.log().includes('GET'))
    expect(await exchange(transport, list(1))).toHaveLength(1)
    await transport.close(500)
    expect(server.log()).toEqual(['initialize', 'notifications/initialized', 'GET', 'tools/list'])
  })

  it.each([200, 400, 404])(
    'a refused initialize carries the error of the server, sent with HTTP %s',
    async (status) => {
      const error = { code: -32_022, message: 'no', data: { supported: ['2026-07-28'] } }
      server.settings.handle = (request) => {
        request.json(status, { jsonrpc: '2.0', id: status === 404 ? null : 0, error })
        return true
      }
      const failure = await exchange(transport, initialize).catch((error: unknown) => error)
      expect(failure).toMatchObject({
        fault: 'refused',
        status,
        response: { envelope: { kind: 'response', id: 0 } },
      })
      const { text } = (failure as { response: WireMessage }).response
      expect(JSON.parse(text)).toMatchObject({ id: 0, error })
    },
  )

  it.each<[what: string, opening: JsonObject, revision: string | undefined]>([
    ['with a line end', { protocolVersion: '2025-11-25\r\nX-Evil: 1' }, undefined],
    ['that is not there yet', { protocolVersion: '2099-01-01' }, '2099-01-01'],
    ['that is not said', { protocolVersion: undefined, capabilities: undefined }, undefined],
  ])('a request names a revision %s only if a header can hold it', async (_, opening, revision) => {
    server.set({ opening, revisions: ['2025-11-25', '2099-01-01'] })
    await open()
    await exchange(transport, call(1))
    const last = server.received.at(-1)?.headers
    expect(last?.['mcp-protocol-version']).toBe(revision)
    expect(last).not.toHaveProperty('x-evil')
  })

  it('a session id that cannot be sent back is refused', async () => {
    server.set({ headers: { 'Mcp-Session-Id': ['a', 'x'.repeat(60_000)] }, sessions: false })
    await open()
    expect(server.received.at(-1)?.headers['mcp-session-id']).toBe(`a, ${'x'.repeat(60_000)}`)
    server.set({ headers: { 'Mcp-Session-Id': 'schlüssel' } })
    await expect(exchange(createTransport(), initialize)).rejects.toThrow('session')
  })

  it('requests without initialize are sent without a session', async () => {
    server.settings.sessions = false
    expect(await exchange(transport, list(1))).toHaveLength(1)
  })

  it('the replaced session is deleted at the server', async () => {
    await open()
    await open()
    await until(() => server.counters.sessionsOpen === 1 && server.streams.size === 1)
    const ended = server.received.filter(({ method }) => method === 'DELETE')
    expect(ended.map(({ headers }) => headers['mcp-session-id'])).toEqual(['session-1'])
  })
})

describe('answers', () => {
  beforeEach(open)

  it('a streamed response is delivered unchanged, after its notifications', async () => {
    answerCalls((request, id) => {
      const result = '"big":9007199254740993 , "x" : 1.0'
      request.events(`: hi\r\n\r\nevent: ping\ndata: {}\n\n${notice('progress')}${ok(id, result)}`)
      request.response.end()
    })
    const lines: string[] = []
    const wire: WireMessage = readMessageText(JSON.stringify(call(5)))
    await transport.send(wire, { deliver: ({ text }) => void lines.push(text) })
    expect(lines).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress"}',
      '{"jsonrpc":"2.0","id":5,"result":{"big":9007199254740993 , "x" : 1.0}}',
    ])
  })

  describe('that come on the GET stream', () => {
    /** Accepts each call with 202, before or after its answer is sent on the stream of the session. */
    function answerOnStream(isBefore: boolean): void {
      answerCalls(({ response }, id) => {
        const send = (): void => {
          for (const stream of server.streams) stream.write(ok(id, `"a":${JSON.stringify(id)}`))
        }
        if (isBefore) send()
        response.writeHead(202).end()
        if (!isBefore) send()
      })
    }

    it.each([true, false])(
      'a response on the GET stream is delivered once; before its 202: %s',
      async (isBefore) => {
        await open()
        await until(() => server.streams.size === 1)
        answerOnStream(isBefore)
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, id) => exchange(transport, call(id))),
        )
        expect(answers).toEqual(
          Array.from({ length: 20 }, (_, id) => [{ jsonrpc: '2.0', id, result: { a: id } }]),
        )
        expect(harness.unsolicited).toEqual([])
      },
    )

    it.each<[what: string, finish: (call: Received | undefined) => void, answer: object]>([
      [
        'a response of its POST',
        (call) => call?.json(200, { jsonrpc: '2.0', id: 1, result: {} }),
        { result: {} },
      ],
      [
        'only 202',
        (call) => void call?.response.writeHead(202).end(),
        { error: { code: -32_000, message: 'No.' } },
      ],
    ])(
      'an error without an id on the GET stream answers a request only if its POST does not: with %s',
      async (_what, finish, answer) => {
        await open()
        await until(() => server.streams.size === 1)
        let held: Received | undefined
        answerCalls((request) => {
          held = request
          for (const stream of server.streams) {
            stream.write('data: {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No."}}\n\n')
            // Behind the error, so that it has been read.
            stream.write('data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n')
          }
        })
        const called = exchange(transport, call(1))
        await until(() => harness.unsolicited.length === 1)
        finish(held)
        expect(await called).toEqual([{ jsonrpc: '2.0', id: 1, ...answer }])
      },
    )

    it('a response on the GET stream is waited for until the caller cancels', async () => {
      await open()
      await until(() => server.streams.size === 1)
      const given = new AbortController()
      answerCalls(({ response }) => {
        response.writeHead(202).end()
        setTimeout(() => given.abort(), 50)
      })
      await expect(exchange(transport, call(5), { signal: given.signal })).rejects.toMatchObject({
        fault: 'aborted',
      })
    })

    it('a request fails if the server closes its GET stream for good', async () => {
      await open()
      await until(() => server.streams.size === 1)
      answerCalls(({ response }) => {
        response.writeHead(202).end()
        server.settings.streamStatus = 405
        setTimeout(() => {
          for (const stream of server.streams) stream.end('retry: 20\n\n')
        }, 50)
      })
      await expect(exchange(transport, call(5))).rejects.toMatchObject({ fault: 'lost' })
    })

    it('a response is not waited for if the server has no GET stream', async () => {
      server.settings.streamStatus = 405
      await open()
      await until(() => server.log().includes('GET'))
      answerCalls(({ response }) => response.writeHead(202).end())
      await expect(exchange(transport, call(5))).rejects.toMatchObject({ fault: 'no_mcp' })
    })
  })

  it('line breaks within a response are removed', async () => {
    answerCalls((request, id) =>
      request.json(200, `{\r\n "jsonrpc": "2.0",\n "id": ${String(id)},\n "result": {"a":"\\n"}\n}\n`),
    )
    let line = ''
    await transport.send(toWireMessage(call(5)), { deliver: ({ text }) => void (line = text) })
    expect(line).not.toMatch(/[\r\n]/)
    expect(JSON.parse(line)).toEqual({ jsonrpc: '2.0', id: 5, result: { a: '\n' } })
  })

  it.each<[string, (request: Received, id: unknown) => void, string]>([
    [
      'a web page',
      (request) => request.response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>'),
      'no_mcp',
    ],
    ['garbage', (request) => request.json(200, '{"jsonrpc"'), 'no_mcp'],
    ['another id', (request) => request.json(200, { jsonrpc: '2.0', id: 77, result: {} }), 'no_mcp'],
    ['its id as another text', ({ json }) => json(200, { jsonrpc: '2.0', id: '05', result: {} }), 'no_mcp'],
    ['its own request', (request) => request.json(200, request.body), 'no_mcp'],
    ['both', ({ answer }) => answer({ result: {}, error: { code: 1, message: '' } }), 'no_mcp'],
    ['not UTF-8', ({ json }) => json(200, Buffer.from([0x7b, 0xff, 0xfe, 0x7d])), 'no_mcp'],
    [
      'compressed',
      ({ json }) => json(200, gzipSync(Buffer.alloc(1_000_000)), { 'Content-Encoding': 'gzip' }),
      'no_mcp',
    ],
    ['nested without end', ({ json }) => json(200, '['.repeat(400_000) + ']'.repeat(400_000)), 'no_mcp'],
    ['an empty batch', (request) => request.json(200, []), 'no_mcp'],
    [
      'a batch with an invalid message',
      (request, id) => request.json(200, [{ jsonrpc: '2.0', id, result: {} }, 7]),
      'no_mcp',
    ],
    ['a stream without it', (request) => void (request.events(notice('x')), request.response.end()), 'lost'],
    ['403', (request) => request.json(403, {}), 'forbidden'],
    ['405', (request) => request.json(405, {}), 'not_found'],
    ['413', (request) => request.json(413, {}), 'too_large'],
    ['418', (request) => request.json(418, {}), 'refused'],
    ['500', (request) => request.json(500, {}), 'unavailable'],
    ['503', (request) => request.json(503, {}), 'unavailable'],
    ['429 for long', (request) => request.json(429, {}, { 'Retry-After': '60' }), 'rate_limited'],
  ])('a call whose answer is %s fails by name, and is sent once', async (_what, answer, fault) => {
    answerCalls(answer)
    await expect(exchange(transport, call(5))).rejects.toMatchObject({ name: 'TransportError', fault })
    expect(server.log().filter((method) => method === 'tools/call')).toHaveLength(1)
  })

  it.each([
    [301, 'http://elsewhere.example/mcp?code=1', 'http://elsewhere.example/mcp.'],
    [302, '//elsewhere.example/x', 'http://elsewhere.example/x.'],
    [303, 'https://elsewhere.example/#f', 'https://elsewhere.example/.'],
    [307, 'javascript:alert(1)', 'another address.'],
    [307, '/mcp/?secret=1', '/mcp/.'],
    [308, `https://a/${'x'.repeat(5000)}`, `https://a/${'x'.repeat(290)}.`],
    [308, 'https://[', 'another address.'],
  ])(
    'a redirect (%d, %s) is not followed, and its target is named without a query',
    async (status, location, named) => {
      answerCalls((request) => request.response.writeHead(status, { Location: location }).end())
      const failure = (await exchange(transport, call(5)).catch((error: unknown) => error)) as Error
      expect(failure).toMatchObject({ fault: 'refused', status })
      const where = named.startsWith('/') ? server.origin + named : named
      expect(failure.message.replace(/(?<=\.) If .*$/, '')).toBe(
        `The server says that the endpoint has moved to ${where}`,
      )
      expect(server.log().filter((method) => method === 'tools/call')).toHaveLength(1)
    },
  )

  it('a response in the body of an error status is delivered', async () => {
    answerCalls((request, id) =>
      request.json(400, { jsonrpc: '2.0', id, error: { code: -32_602, message: 'm' } }),
    )
    expect(await exchange(transport, call(5))).toMatchObject([{ id: 5, error: { code: -32_602 } }])
  })

  it('responses of the client are accepted with 202', async () => {
    expect(await exchange(transport, { jsonrpc: '2.0', id: 'q', result: {} })).toEqual([])
    expect(await exchange(transport, { jsonrpc: '2.0', method: 'notifications/cancelled' })).toEqual([])
  })

  it('a response after a cancellation is dropped', async () => {
    let response: Received | undefined
    answerCalls((request) => void (request.events(notice('one')), (response = request)))
    const giveUp = new AbortController()
    const delivered: unknown[] = []
    const sending = transport.send(toWireMessage(call(5)), {
      signal: giveUp.signal,
      deliver: (message) => void delivered.push(message),
    })
    await until(() => delivered.length === 1)
    giveUp.abort()
    response?.response.write(ok(5))
    await expect(sending).rejects.toMatchObject({ name: 'NetworkError', fault: 'aborted' })
    expect(delivered).toHaveLength(1)
  })
})

it('nothing is delivered to a slow reader that has cancelled', async () => {
  await open()
  answerCalls((request, id) => request.events(`${notice('one')}${notice('two')}${ok(id)}`))
  const giveUp = new AbortController()
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  let delivered = 0
  const sending = transport.send(toWireMessage(call(5)), {
    signal: giveUp.signal,
    deliver: () => ((delivered += 1), held),
  })
  await until(() => delivered === 1)
  giveUp.abort()
  release()
  await Promise.allSettled([sending])
  expect(delivered).toBe(1)
})

describe('batches of 2025-03-26', () => {
  it('a batch is sent as one message, and its responses are delivered one by one', async () => {
    server.settings.revisions = ['2025-03-26']
    await open()
    const batch = readMessageText(JSON.stringify([list(1), initialized, list(2)]))
    const asJson = [1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} }))
    server.settings.handle = (request) => (request.json(200, asJson), true)
    expect((await exchange(transport, batch)).map(({ id }) => id)).toEqual([1, 2])
    expect(server.received.at(-1)?.text).toBe(batch.text)
    const streamed = [notice('x'), `data: [${ok(2).slice(6).trim()},${ok(1).slice(6).trim()}]\n\n`]
    server.settings.handle = (request) => (request.events(streamed.join('')), true)
    expect((await exchange(transport, batch)).map(({ id }) => id)).toEqual([undefined, 2, 1])
  })
})

describe('a stream that is cut', () => {
  it('a cut stream is resumed after the time the server names, with the id of the last event', async () => {
    await open()
    await until(() => server.streams.size === 1)
    let cutAt = 0
    server.settings.handle = (request) => {
      if (request.method === 'GET') {
        request.events(`${notice('more')}${ok(5)}`)
        return true
      }
      if (request.body['method'] !== 'tools/call') return false
      request.events(`id: e1\nretry: 500\ndata:\n\nid: e2\n${notice('one')}`)
      setTimeout(() => {
        cutAt = performance.now()
        request.response.end()
      }, 50)
      return true
    }
    const answers = await exchange(transport, call(5))
    expect(answers.map(({ method }) => method)).toEqual([
      'notifications/one',
      'notifications/more',
      undefined,
    ])
    const resumed = server.received.at(-1)
    expect(resumed?.headers).toMatchObject({ 'last-event-id': 'e2', 'mcp-session-id': 'session-1' })
    const waited = (resumed?.at ?? 0) - cutAt
    expect(waited).toBeGreaterThan(450)
    expect(Math.max(...harness.sleeps)).toBeLessThan(800)
  })

  it('a broken stream is resumed as often as needed', async () => {
    await open()
    await until(() => server.streams.size === 1)
    let gets = 0
    server.settings.handle = (request) => {
      if (request.method === 'GET') {
        gets += 1
        request.events(gets < 3 ? `id: g${gets}\n${notice('g')}` : ok(5))
        setImmediate(() => request.response.destroy())
        return true
      }
      if (request.body['method'] !== 'tools/call') return false
      request.events(`id: e1\nretry: 10\ndata:\n\n`)
      setTimeout(() => request.response.destroy(), 20)
      return true
    }
    expect(await exchange(transport, call(5))).toHaveLength(3)
    const resumes = server.received.map(({ headers }) => headers['last-event-id']).filter(Boolean)
    expect(resumes).toEqual(['e1', 'g1', 'g2'])
  })

  it('the waits before resuming grow while nothing arrives, and start over when something does', async () => {
    server.settings.streamStatus = 405
    harness = createHarness(100)
    transport = createTransport()
    await open()
    await until(() => server.log().includes('GET'))
    const streams = ['id: e1\ndata:\n\n', '', '', `id: e2\n${notice('one')}`, ok(5)]
    server.settings.handle = ({ method, body, events }) => {
      if (method !== 'GET' && body['method'] !== 'tools/call') return false
      events(streams.shift()).end()
      return true
    }
    expect(await exchange(transport, call(5))).toHaveLength(2)
    // Less up to a quarter by chance.
    for (const [turn, most] of [1400, 2800, 5600, 1400].entries()) {
      expect(harness.sleeps[turn]).toBeLessThanOrEqual(most)
      expect(harness.sleeps[turn]).toBeGreaterThanOrEqual(most * 0.75)
    }
  })

  it('a request fails if the server does not resume its stream', async () => {
    await open()
    answerCalls((request) => void (request.events(`id: e1\nretry: 10\ndata:\n\n`), request.response.end()))
    const before = server.settings.handle
    await until(() => server.streams.size === 1)
    server.settings.streamStatus = 405
    server.settings.handle = before
    await expect(exchange(transport, call(5))).rejects.toMatchObject({ fault: 'lost' })
  })
})

describe('a lost session', () => {
  it.each([404, 400] as const)(
    'a session lost by HTTP %s is opened again once for a burst of calls, each answered once',
    async (status) => {
      await open()
      await exchange(transport, ask('logging/setLevel', { level: 'info' }))
      for (const uri of ['a:1', 'b:2']) await exchange(transport, ask('resources/subscribe', { uri }))
      await exchange(transport, ask('resources/unsubscribe', { uri: 'b:2' }))
      await until(() => server.streams.size === 1)
      server.settings.lostSessionStatus = status
      server.dropSessions()
      server.received.length = 0
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, id) => exchange(transport, call(id + 100))),
      )
      expect(answers.map((one) => one.map(({ id }) => id))).toEqual(
        Array.from({ length: 10 }, (_, id) => [id + 100]),
      )
      await until(() => server.streams.size === 1 && server.log().includes('resources/subscribe'))
      const log = server.log()
      const count = (method: string): number => log.filter((one) => one === method).length
      expect(count('initialize')).toBe(1)
      expect(count('notifications/initialized')).toBe(1)
      expect(count('logging/setLevel')).toBe(1)
      expect(count('resources/subscribe')).toBe(1)
      expect(count('GET')).toBe(1)
      expect(count('tools/call')).toBe(20)
      const initialization = server.received.find((request) => request.text.includes('"initialize"'))
      expect(initialization?.body).toMatchObject({ params: initialize.params })
      expect(initialization?.headers).not.toHaveProperty('mcp-session-id')
      // Twice in a row, and the choices are still known.
      server.dropSessions()
      server.received.length = 0
      await exchange(transport, call(1))
      await until(
        () => server.log().includes('resources/subscribe') && server.log().includes('logging/setLevel'),
      )
    },
  )

  it('a late call does not open another session', async () => {
    await open()
    const slow: Received[] = []
    server.settings.handle = (request) => {
      if (!request.text.includes('slow') || request.headers['mcp-session-id'] !== 'session-1') return false
      slow.push(request)
      return true
    }
    const late = exchange(transport, call(1, 'slow'))
    await until(() => slow.length === 1)
    server.dropSessions()
    await exchange(transport, call(2))
    slow[0]?.response.writeHead(404).end()
    expect(await late).toHaveLength(1)
    expect(server.log().filter((method) => method === 'initialize')).toHaveLength(2)
  })

  it('a lost session drops responses of the client and repeats notifications', async () => {
    await open()
    server.dropSessions()
    await exchange(transport, { jsonrpc: '2.0', id: 'q', result: {} })
    server.dropSessions()
    await exchange(transport, { jsonrpc: '2.0', method: 'notifications/roots/list_changed' })
    const log = server.log()
    expect(log.filter((method) => method === 'response')).toHaveLength(1)
    expect(log.filter((method) => method === 'notifications/roots/list_changed')).toHaveLength(2)
  })

  it('a new session restores only the choices since the latest initialize', async () => {
    await open()
    await exchange(transport, ask('logging/setLevel', { level: 'info' }))
    await exchange(transport, ask('resources/subscribe', { uri: 'a:1' }))
    await open()
    server.dropSessions()
    server.received.length = 0
    await exchange(transport, call(3))
    await exchange(transport, call(4))
    expect(server.log()).toContain('initialize')
    expect(server.log()).not.toContain('logging/setLevel')
    expect(server.log()).not.toContain('resources/subscribe')
  })

  it('a response of the client is sent while the session is renewed', async () => {
    await open()
    server.dropSessions()
    server.settings.sessions = false
    let held: Received | undefined
    server.settings.handle = (request) => {
      if (request.method !== 'POST') return false
      const { method } = request.body
      if (method === 'tools/call' && held === undefined) request.response.writeHead(404).end()
      else if (method === 'initialize') held = request
      else if (method !== undefined) return false
      else {
        const { id } = held!.body
        const { clientInfo: serverInfo, ...result } = initialize.params
        held!.json(200, { jsonrpc: '2.0', id, result: { ...result, serverInfo } })
        request.response.writeHead(202).end()
      }
      return true
    }
    const waiting = exchange(transport, call(1))
    await until(() => held !== undefined)
    await exchange(transport, { jsonrpc: '2.0', id: 'q', result: {} })
    expect(await waiting).toHaveLength(1)
  })

  it('a session that is lost again at once is an error', async () => {
    await open()
    server.settings.handle = (request) => {
      if (!request.text.includes('tools/call')) return false
      request.response.writeHead(404).end()
      return true
    }
    await expect(exchange(transport, call(1))).rejects.toMatchObject({ fault: 'lost' })
    expect(server.log().filter((method) => method === 'tools/call')).toHaveLength(2)
  })

  it('a half-opened session is opened again', async () => {
    await open()
    server.dropSessions()
    let isBroken = true
    server.settings.handle = (request) => {
      if (!isBroken || !request.text.includes('notifications/initialized')) return false
      request.json(500, {})
      return true
    }
    await expect(exchange(transport, call(1))).rejects.toMatchObject({ fault: 'unavailable' })
    isBroken = false
    expect(await exchange(transport, call(2))).toHaveLength(1)
    expect(server.log().filter((method) => method === 'initialize')).toHaveLength(3)
  })

  it('all waiting requests fail if no session can be opened, and later ones work', async () => {
    await open()
    server.dropSessions()
    let isDown = true
    server.settings.handle = (request) => {
      if (!isDown || !request.text.includes('"initialize"')) return false
      request.json(500, {})
      return true
    }
    const failures = await Promise.allSettled([exchange(transport, call(1)), exchange(transport, call(2))])
    expect(failures).toMatchObject([
      { reason: { fault: 'unavailable' } },
      { reason: { fault: 'unavailable' } },
    ])
    isDown = false
    expect(await exchange(transport, call(3))).toHaveLength(1)
  })
})

it('a cut GET stream comes back with the id of its last message', async () => {
  await open()
  await until(() => server.streams.size === 1)
  for (const stream of server.streams) stream.write(`id: s1\n${notice('tools/list_changed')}`)
  await until(() => harness.unsolicited.length === 1)
  const cutAt = performance.now()
  for (const stream of server.streams) stream.destroy()
  await until(() => server.streams.size === 0)
  await until(() => server.streams.size === 1)
  const again = server.received.at(-1)
  expect(again?.headers['last-event-id']).toBe('s1')
  const waited = (again?.at ?? 0) - cutAt
  expect(waited).toBeGreaterThan(950)
  expect(Math.max(...harness.sleeps)).toBeLessThan(3000)
  for (const stream of server.streams) stream.write(notice('prompts/list_changed'))
  await until(() => harness.unsolicited.length === 2)
})

it('the GET stream keeps its last id through a stream without events', async () => {
  await open()
  await until(() => server.streams.size === 1)
  const [first] = server.streams
  first?.end(`retry: 20\nid: s1\n${notice('tools/list_changed')}`)
  await until(() => server.streams.size === 1 && !server.streams.has(first!))
  const [second] = server.streams
  second?.end()
  await until(() => server.streams.size === 1 && !server.streams.has(second!))
  const gets = server.received.filter(({ method }) => method === 'GET')
  expect(gets.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 's1', 's1'])
})

it('the GET stream resumes with any id that fits in a header', async () => {
  const ids = ['plain', 'a\u0001b', 'ключ', '', 'next', 'x'.repeat(300_000)]
  const given = [...ids]
  server.settings.handle = ({ method, events }) => {
    if (method !== 'GET') return false
    const id = given.shift()
    const stream = events()
    if (id === undefined) stream.write(': open\n\n')
    else stream.end(`retry: 20\nid: ${id}\n${notice('message')}`)
    return true
  }
  await open()
  const gets = (): Received[] => server.received.filter(({ method }) => method === 'GET')
  await until(() => gets().length > ids.length)
  const key = Buffer.from('ключ').toString('latin1')
  const sent = gets().map(({ headers }) => headers['last-event-id'])
  expect(sent).toEqual([undefined, 'plain', 'plain', key, key, 'next', 'next'])
})

it('the GET stream waits before it comes back, even if the server asks for no delay', async () => {
  server.settings.handle = (request) => {
    if (request.method !== 'GET') return false
    request.events('retry: 0\nid: 1\n\n')
    request.response.end()
    return true
  }
  await open()
  await until(() => server.received.length > 8)
  const gets = server.received.filter(({ method }) => method === 'GET')
  expect((gets.at(-1)?.at ?? 0) - (gets[0]?.at ?? 0)).toBeGreaterThan(15 * (gets.length - 1))
})

it('the GET stream notices a lost session', async () => {
  await open()
  await until(() => server.streams.size === 1)
  server.dropSessions()
  for (const stream of server.streams) stream.end('retry: 20\n\n')
  await until(() => server.counters.sessionsOpen === 1 && server.streams.size === 1)
  expect(server.log().filter((method) => method === 'initialize')).toHaveLength(2)
})

it('a GET stream that the server refuses is not opened again, after 404 neither', async () => {
  server.settings.streamStatus = 404
  await open()
  await until(() => harness.notes.some((note) => note.startsWith('no GET stream')))
  expect(await exchange(transport, call(1))).toHaveLength(1)
  expect(server.log().filter((method) => method === 'GET' || method === 'initialize')).toHaveLength(2)
})

it('the GET stream opens after the sign-in that it needed', async () => {
  server.settings.handle = (request) => {
    if (request.method !== 'GET' || request.headers.authorization === 'Bearer good') return false
    request.response.writeHead(401).end()
    return true
  }
  await open()
  await until(() => harness.refusals.length === 1)
  harness.token = 'good'
  await exchange(transport, call(1))
  await until(() => server.streams.size === 1)
})

describe('closing', () => {
  it('close ends the session and its stream', async () => {
    await open()
    await until(() => server.streams.size === 1)
    await transport.close(500)
    expect(server.log().at(-1)).toBe('DELETE')
    expect(server.counters.sessionsOpen).toBe(0)
    await until(() => server.streams.size === 0)
  })

  it('close keeps its time, aborts open requests and refuses later ones', async () => {
    await open()
    server.settings.handle = () => true
    const waiting = exchange(transport, call(1))
    await until(() => server.log().includes('tools/call'))
    const started = performance.now()
    const [failed] = await Promise.allSettled([waiting, transport.close(100)])
    expect(performance.now() - started).toBeLessThan(5000)
    expect(failed).toMatchObject({ reason: { fault: 'aborted' } })
    await expect(exchange(transport, call(2))).rejects.toMatchObject({ fault: 'aborted' })
  })
})

it('an answered message no longer listens for its cancellation, and a cancelled one is not sent', async () => {
  await open()
  const cancel = new AbortController()
  const { signal } = cancel
  await exchange(transport, list(1), { signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
  cancel.abort()
  const cancelled = { fault: 'aborted', sent: false }
  await expect(exchange(transport, list(2), { signal })).rejects.toMatchObject(cancelled)
  expect(server.log().filter((name) => name === 'tools/list')).toEqual(['tools/list'])
})

it('a transport that has answered is kept, whatever refuses a later message', async () => {
  const config = { serverUrl: `${server.origin}/mcp`, headers: {}, retryMs: 0, cookies: true }
  const kept = new FallbackTransport({ ...config, transport: 'http-first' }, harness.ports, undefined)
  await exchange(kept, initialize)
  answerCalls((request) => request.json(405, {}))
  await expect(exchange(kept, call(1))).rejects.toMatchObject({ fault: 'not_found' })
  await kept.close(500)
  expect(server.log()).toEqual(['initialize', 'tools/call', 'DELETE'])
})

it('a web page does not lead to HTTP+SSE', async () => {
  const config = { serverUrl: `${server.origin}/mcp`, headers: {}, retryMs: 0, cookies: true }
  const first = new FallbackTransport({ ...config, transport: 'http-first' }, harness.ports, undefined)
  const asked: string[] = []
  server.settings.handle = ({ method, response }) => {
    asked.push(method)
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>')
    return true
  }
  await expect(exchange(first, initialize)).rejects.toMatchObject({ fault: 'no_mcp' })
  await first.close(500)
  expect(asked).toEqual(['POST'])
})
