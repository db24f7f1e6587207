import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { readText, sendJson } from '../support/remote/exchange-parts.ts'
import { type BridgeChild, errorOf, peakMegabytes, textOf } from '../support/bridge/process/bridge-child.ts'
import { listenOn } from '../support/bridge/process/socket-server.ts'
import { type Stage, staged, until } from '../support/bridge/process/stage.ts'

/** One call of the client, and the response that a crook makes of it. */
interface Call {
  id: unknown
  response: ServerResponse
  request: IncomingMessage
  message: JsonObject
}

interface Crook {
  url: string
  /** Everything that came, by HTTP method and JSON-RPC method. */
  heard: { method: string; headers: IncomingMessage['headers']; message: JsonObject }[]
}

interface Ways {
  /** Answers `tools/call`. */
  call?(call: Call): void
  /** Answers GET. */
  get?(response: ServerResponse, request: IncomingMessage): void
  /** Answers anything by itself: true when it did. */
  first?(call: Call): boolean
  /** Result of `initialize`. */
  opening?: JsonObject
  headers?: Record<string, string | string[]>
}

/** A server of 2025-11-25 that keeps to the rules in whatever a test leaves out. */
async function startCrook(stage: Stage, ways: Ways): Promise<Crook> {
  const heard: Crook['heard'] = []

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request)
    const message = (text === '' ? {} : JSON.parse(text)) as JsonObject
    const { id, method } = message
    const call = { id, response, request, message }
    heard.push({ method: request.method ?? '', headers: request.headers, message })
    if (ways.first?.(call) === true) return
    if (request.method === 'GET' && ways.get !== undefined) return ways.get(response, request)
    if (request.method !== 'POST') return void response.writeHead(405).end()
    if (id === undefined || method === undefined) return void response.writeHead(202).end()
    if (method === 'tools/call' && ways.call !== undefined) return ways.call(call)
    sendJson(response, 200, { jsonrpc: '2.0', id, result: resultOf(method, ways) }, ways.headers)
  }

  const server = createServer({ maxHeaderSize: megabyte }, (request, response) => {
    response.on('error', () => {})
    void serve(request, response)
  })
  const { port } = await listenOn(stage, server)
  return { url: `http://127.0.0.1:${port}/mcp`, heard }
}

function resultOf(method: unknown, { opening }: Ways): JsonObject {
  if (method === 'tools/list') return { tools: [] }
  if (method !== 'initialize') return textResult('fine')
  const serverInfo = { name: 'crook', version: '1' }
  return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo, ...opening }
}

function textResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }] }
}

function answer(id: unknown, text = 'fine'): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result: textResult(text) })
}

function events(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'Content-Type': 'text/event-stream' })
}

const call = { name: 'x', arguments: {} }
const megabyte = 1024 * 1024

async function opened(stage: Stage, ways: Ways): Promise<{ bridge: BridgeChild; crook: Crook }> {
  const crook = await startCrook(stage, ways)
  const bridge = stage.bridge(crook.url)
  await bridge.initialize()
  return { bridge, crook }
}

/** Writes the block so many times, as fast as it is taken, and calls `end` behind it. */
function pour(to: Writable, times: number, block: Buffer, end: () => void, each?: () => void): void {
  let left = times
  const more = (): void => {
    for (; left > 0 && !to.destroyed; left -= 1) {
      to.write(block)
      each?.()
      if (to.writableNeedDrain) {
        left -= 1
        return void to.once('drain', more)
      }
    }
    if (!to.destroyed) end()
  }
  more()
}

function pourMegabytes(to: Writable, megabytes: number, before = ''): void {
  to.write(before)
  pour(to, megabytes, Buffer.alloc(megabyte, 0x20), () => void to.end())
}

/** Does that to the first call; the next ones are answered as they should be. */
function once(give: (call: Call) => void): (call: Call) => void {
  let isFirst = true
  return (one) => {
    if (isFirst) give(one)
    else sendJson(one.response, 200, JSON.parse(answer(one.id)))
    isFirst = false
  }
}

/** Gives each wrong answer to a call of one bridge, and checks what the client hears; the call behind it has to work. */
async function eachWrong(
  stage: Stage,
  rows: readonly [what: string, give: (call: Call) => void, ...rest: unknown[]][],
  check: (error: ReturnType<typeof errorOf>, what: string, index: number) => void,
): Promise<Crook> {
  let give: (call: Call) => void = () => {}
  const { bridge, crook } = await opened(stage, { call: (one) => give(one) })
  for (const [index, [what, wrong]] of rows.entries()) {
    give = once(wrong)
    check(errorOf(await ask(bridge)), what, index)
    expect([what, textOf(await ask(bridge))]).toEqual([what, 'fine'])
  }
  return crook
}

function ids(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

const ask = (bridge: BridgeChild, id?: string): Promise<JsonObject> => bridge.ask('tools/call', call, id)
const isNotice = ({ method }: JsonObject): boolean => method === 'notifications/message'

describe.concurrent('a server that answers what nobody asked', () => {
  it.each<[string, (call: Call) => void]>([
    [
      'in a stream, before and behind what was asked, and twice',
      ({ id, response }) => {
        const lines = [answer('nobody'), answer(99), answer(null), answer(id, 'first'), answer(id, 'second')]
        events(response).end(lines.map((line) => `data: ${line}\n\n`).join(''))
      },
    ],
    [
      'in a batch',
      ({ id, response }) => {
        const lines = [answer('nobody'), answer(id, 'first'), answer(id, 'second')]
        events(response).end(`data: [${lines.join()}]\n\n`)
      },
    ],
  ])('%s: the client gets one answer, its own', (_, give) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, { call: give })
      expect(textOf(await ask(bridge, 'mine'))).toBe('first')
      await bridge.ask('tools/list')
      expect(bridge.messages.map(({ id }) => id)).toEqual([1, 'mine', 2])
    })(),
  )

  const wrong: [string, (call: Call) => void][] = [
    ['another id', ({ response }) => sendJson(response, 200, JSON.parse(answer('other')))],
    ['the id as a text', ({ id, response }) => sendJson(response, 200, JSON.parse(answer(String(id))))],
    [
      'two answers',
      ({ id, response }) => sendJson(response, 200, [JSON.parse(answer(id)), JSON.parse(answer(id))]),
    ],
    ['no id', ({ response }) => sendJson(response, 200, { jsonrpc: '2.0', result: {} })],
    [
      'a result and an error',
      ({ id, response }) =>
        sendJson(response, 200, { jsonrpc: '2.0', id, result: {}, error: { code: 1, message: '' } }),
    ],
    [
      'a request',
      ({ id, response }) => sendJson(response, 200, { jsonrpc: '2.0', id, method: 'roots/list' }),
    ],
    ['nothing', ({ response }) => void response.writeHead(200, { 'Content-Type': 'application/json' }).end()],
    ['nothing, without a type', ({ response }) => void response.writeHead(200).end()],
    ['a stream without events', ({ response }) => void events(response).end()],
    ['202', ({ response }) => void response.writeHead(202).end()],
    ['204', ({ response }) => void response.writeHead(204).end()],
    [
      'a stream that says it is JSON',
      ({ id, response }) =>
        void response.writeHead(200, { 'Content-Type': 'application/json' }).end(`data: ${answer(id)}\n\n`),
    ],
    ['JSON that says it is a stream', ({ id, response }) => void events(response).end(answer(id))],
    [
      'a picture',
      ({ response }) =>
        void response.writeHead(200, { 'Content-Type': 'image/png' }).end(Buffer.alloc(5000, 0x89)),
    ],
    [
      'what is compressed',
      ({ response }) =>
        void response
          .writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(50 * megabyte))),
    ],
    [
      'bytes that are no UTF-8',
      ({ response }) =>
        void response
          .writeHead(200, { 'Content-Type': 'application/json' })
          .end(Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
    ],
  ]

  it(
    'instead of the answer: the call ends by name, and the next one works',
    staged(async (stage) => {
      await eachWrong(stage, wrong, ({ data }, what) =>
        expect([what, data['code']]).toEqual([what, expect.stringMatching(/^server_/)]),
      )
    }),
  )
})

const deep = '['.repeat(400_000) + ']'.repeat(400_000)

describe.concurrent('a server that answers too much', () => {
  it.each<[string, (call: Call) => void]>([
    ['100 MB as JSON', ({ response }) => pourMegabytes(response.writeHead(200), 100)],
    [
      '100 MB that are announced',
      ({ response }) => void response.writeHead(200, { 'Content-Length': 100 * megabyte }).write('{'),
    ],
    ['100 MB in one line of an event', ({ response }) => pourMegabytes(events(response), 100, 'data: ')],
    ['100 MB as the name of an event', ({ response }) => pourMegabytes(events(response), 100, 'event: ')],
  ])('%s: the call ends by name, and memory stays bounded', (_, give) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, { call: once(give) })
      expect(errorOf(await ask(bridge)).data).toMatchObject({ code: 'server_too_large' })
      expect(textOf(await ask(bridge))).toBe('fine')
      expect(peakMegabytes(bridge)).toBeLessThan(260)
    })(),
  )

  it.each<[string, (call: Call) => void]>([
    [
      'an event of a million lines without a word',
      ({ id, response }) => {
        events(response)
        const lines = Buffer.from('data\n'.repeat(20_000))
        pour(response, 50, lines, () => response.end(`\ndata: ${answer(id)}\n\n`))
      },
    ],
    [
      'five million comments',
      ({ id, response }) => {
        events(response)
        const comments = Buffer.from(': x\n'.repeat(20_000))
        pour(response, 250, comments, () => response.end(`\ndata: ${answer(id)}\n\n`))
      },
    ],
  ])('%s: it takes no more memory than it has bytes', (_, give) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, { call: give })
      expect(textOf(await ask(bridge))).toBe('fine')
      expect(peakMegabytes(bridge)).toBeLessThan(200)
    })(),
  )

  it(
    'notices, to a client that does not read: they wait at the server',
    staged(async (stage) => {
      let written = 0
      const notice = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${'x'.repeat(200)}"}}\n\n`
      const block = Buffer.from(notice.repeat(400))
      const { bridge } = await opened(stage, {
        get(response) {
          pour(
            events(response),
            4000,
            block,
            () => {},
            () => (written += 1),
          )
        },
      })
      bridge.child.stdout?.pause()
      let before = -1
      await until('no more is taken', async () => {
        before = written
        await delay(700)
        return before > 0 && before === written
      })
      expect(peakMegabytes(bridge)).toBeLessThan(150)
      bridge.child.stdout?.resume()
      await until('more is taken', () => written > before)
    }),
  )
})

describe.concurrent('a server that nests without end', () => {
  it.each([
    ['batches', deep, 'json'],
    ['batches in an event', deep, 'events'],
    ['batches with others beside them', `${'[1,'.repeat(30_000)}1${']'.repeat(30_000)}`, 'events'],
  ])('%s: what is in them is not looked at again and again', (_, text, how) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, {
        call: ({ id, response }) =>
          how === 'json'
            ? void response.writeHead(200, { 'Content-Type': 'application/json' }).end(text)
            : void events(response).end(`data: ${text}\n\ndata: ${answer(id)}\n\n`),
      })
      const begin = performance.now()
      const said = await ask(bridge)
      if (how === 'json') expect(errorOf(said).data).toMatchObject({ code: 'server_no_mcp' })
      else expect(textOf(said)).toBe('fine')
      // Level by level it is a matter of minutes.
      expect(performance.now() - begin).toBeLessThan(10_000)
    })(),
  )

  it.each(['2025', '2026'])('a list of tools: a %s client is answered, again and again', (year) =>
    staged(async (stage) => {
      const crook = await startCrook(stage, {
        first({ id, message, response }) {
          if (message['method'] !== 'tools/list') return false
          const tools = `[{"name":"x","inputSchema":{"type":"object","default":${deep}}}]`
          const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${tools}}}`
          response.writeHead(200, { 'Content-Type': 'application/json' }).end(text)
          return true
        },
      })
      const bridge = stage.bridge(crook.url)
      if (year === '2026') bridge.speakModern()
      else await bridge.initialize()
      for (const _ of [1, 2]) {
        const said = await bridge.ask('tools/list')
        // As it came, or by name where it would have to be written anew.
        if (year === '2025') expect(said).toHaveProperty('result.tools.0.name', 'x')
        else expect(errorOf(said).data).toMatchObject({ code: 'server_too_large' })
      }
      expect(textOf(await ask(bridge))).toBe('fine')
    })(),
  )
})

describe.concurrent('a server that lies in its head', () => {
  it.each<[string, Ways, string | undefined]>([
    ['a revision with a line end', { opening: { protocolVersion: '2025-11-25\r\nX-Evil: 1' } }, undefined],
    ['a revision of 10 kB', { opening: { protocolVersion: 'x'.repeat(10_000) } }, undefined],
    ['a revision that is a number', { opening: { protocolVersion: 5 } }, undefined],
    ['a revision that is not there yet', { opening: { protocolVersion: '2099-01-01' } }, '2099-01-01'],
    [
      'no revision, and no capabilities',
      { opening: { protocolVersion: undefined, capabilities: undefined } },
      undefined,
    ],
  ])('%s: later requests name only what can be named', (_, ways, revision) =>
    staged(async (stage) => {
      const { bridge, crook } = await opened(stage, ways)
      expect(textOf(await ask(bridge))).toBe('fine')
      const last = crook.heard.at(-1)?.headers
      expect(last?.['mcp-protocol-version']).toBe(revision)
      expect(last).not.toHaveProperty('x-evil')
    })(),
  )

  it.each([
    ['with a tab', 'a\tb', true],
    ['twice', ['a', 'b'], true],
    ['of 60 kB', 'x'.repeat(60_000), true],
    ['with letters that ASCII has not', 'schlüssel', false],
  ])('a session id %s comes back as it was, or there is no session', (_, id, isUsable) =>
    staged(async (stage) => {
      const { bridge, crook } = await opened(stage, { headers: { 'Mcp-Session-Id': id } })
      if (isUsable) {
        expect(textOf(await ask(bridge))).toBe('fine')
        expect(crook.heard.at(-1)?.headers['mcp-session-id']).toBe(String(id).replace(',', ', '))
      } else expect(errorOf(bridge.messages[0] ?? {}).message).toContain('session')
    })(),
  )

  it.each<[string, Record<string, string | string[]>, RegExp | undefined]>([
    ['200 kB', { 'X-Bomb': 'x'.repeat(200_000) }, /^network_protocol$/],
    ['5000 headers', Object.fromEntries(ids(5000).map((n) => [`x-${n}`, 'y'])), undefined],
    ['60 cookies', { 'Set-Cookie': ids(60).map((n) => `c${n}=${'v'.repeat(1500)}`) }, undefined],
  ])('%s: all goes on, or the call ends by name', (_, headers, code) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, { headers })
      const said = await ask(bridge)
      if (code === undefined) expect(textOf(said)).toBe('fine')
      else expect(errorOf(said).data['code']).toMatch(code)
    })(),
  )

  const heads: [line: string, code: string][] = [
    ['Content-Length: -5', 'network_protocol'],
    ['Content-Length: 5\r\nContent-Length: 6', 'network_protocol'],
    ['Content-Length: 5000', 'network_reset'],
    ['Nonsense', 'network_protocol'],
    ['Mcp-Session-Id: a\u0001b', 'network_protocol'],
    ['Content-Length: 5\r\nTransfer-Encoding: chunked', 'network_protocol'],
  ]

  it(
    'a head that HTTP does not have: the call ends by name',
    staged(async (stage) => {
      await eachWrong(
        stage,
        heads.map(([line]) => [
          line,
          ({ id, response }) => {
            const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${line}\r\n\r\n`
            response.socket?.end(head + answer(id))
          },
        ]),
        ({ data }, line, index) => expect([line, data['code']]).toEqual(heads[index]),
      )
    }),
  )
})

describe.concurrent('a server whose streams', () => {
  const notice = 'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'

  it(
    'end at once and are to be opened again at once is asked less and less often, and calls go on',
    staged(async (stage) => {
      const { bridge, crook } = await opened(stage, {
        get: (response) => void events(response).end('retry: 0\n\n'),
        call: ({ id, response, message }) =>
          JSON.stringify(message).includes('polled')
            ? void events(response).end('id: 1\nretry: 0\n\n')
            : sendJson(response, 200, JSON.parse(answer(id))),
      })
      void bridge.ask('tools/call', { name: 'polled' })
      const gets = (): number => crook.heard.filter(({ method }) => method === 'GET').length
      await delay(3000)
      // Both streams: 43 a second each, if it were for the server.
      expect(gets()).toBeLessThan(60)
      await until('some of both', () => gets() > 8)
      expect(textOf(await ask(bridge))).toBe('fine')
    }),
  )

  it.each([
    ['plain', 'plain', 'plain'],
    ['of bytes above 127', 'ключ', Buffer.from('ключ').toString('latin1')],
    ['with a zero', 'a\0b', undefined],
    ['with a control character', 'a\u0001b', undefined],
    ['that is empty', '', undefined],
    ['of 300 kB', 'x'.repeat(300_000), undefined],
  ])('have an id %s come back after it, if it can be sent at all', (_, id, sent) =>
    staged(async (stage) => {
      let streams = 0
      const { bridge, crook } = await opened(stage, {
        get(response) {
          streams += 1
          events(response)
          if (streams === 1) response.end(`retry: 20\nid: ${id}\n${notice}`)
          else response.write(notice)
        },
      })
      await until('the second stream', () => bridge.messages.filter(isNotice).length === 2)
      const again = crook.heard.filter(({ method }) => method === 'GET')[1]
      expect(again?.headers['last-event-id']).toBe(sent)
    })(),
  )

  it(
    'have ids of requests that are those of the client: each side answers its own',
    staged(async (stage) => {
      const asked = [7, 1, 'x', 1.5, null]
      const { bridge, crook } = await opened(stage, {
        call({ id, response }) {
          events(response)
          for (const each of asked)
            response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: each, method: 'roots/list' })}\n\n`)
          setTimeout(() => response.end(`data: ${answer(id)}\n\n`), 300)
        },
      })
      bridge.answerWith({ 'roots/list': { roots: [] } })
      expect(textOf(await bridge.ask('tools/call', call, 7))).toBe('fine')
      const answered = (): unknown[] =>
        crook.heard.filter(({ message }) => 'result' in message).map(({ message }) => message['id'])
      await until('the answers', () => answered().length === 4)
      expect(new Set(answered())).toEqual(new Set([7, 1, 'x', 1.5]))
    }),
  )

  it(
    'answer a call that the client has given up: it hears nothing of it',
    staged(async (stage) => {
      const held: Call[] = []
      const { bridge } = await opened(stage, { call: (one) => void held.push(one) })
      for (const id of ['a', 'b']) bridge.write({ jsonrpc: '2.0', id, method: 'tools/call', params: call })
      await until('both calls', () => held.length === 2)
      const params = { requestId: 'a' }
      bridge.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      await bridge.ask('tools/list')
      for (const { id, response } of held) events(response).end(`data: ${answer(id)}\n\n`)
      await bridge.find(({ id }) => id === 'b')
      await bridge.ask('tools/list')
      expect(bridge.messages.filter(({ id }) => id === 'a')).toEqual([])
    }),
  )
})
