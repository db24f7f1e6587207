import { toResponse } from '@drawbridge/shared/text-response.ts'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sampleKey } from '../../../tests/support/server/core/keeper-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { freePort } from '../../../tests/support/server/free-port.ts'
import { callerSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import { upstreamAt } from '../../core/gateway/upstream-document.ts'
import { createSealer, fixedKeyRing } from '../../core/seal.ts'
import { IncomingCalls } from '../../core/access/call-record.ts'
import { fullAccess } from '../../core/access/access-rules.ts'
import {
  anonymousCaller,
  type Caller,
  type SignedInCaller,
  SignInNeededError,
} from '../../core/tokens/caller.ts'
import { createRelayEndpoint, type RelayEndpoint } from './relay-endpoint.ts'
import { TaskIds } from './upstream-ids.ts'

/** What the upstream got. */
interface Got {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}

let server: Server
let url: string
let answer: (response: ServerResponse, got: Got) => unknown
let got: Got[]
let gone: number
let endpoint: RelayEndpoint
let reported: { event: string; reason?: string; status?: number }[]
let records: Record<string, unknown>[]

const runtime = createFakeRuntime()
const ring = fixedKeyRing([sampleKey('k', 1)])
const sealer = createSealer(ring, runtime.randomBytes)
const ada: SignedInCaller = { ...callerSample, isLive: async () => true }
const anonymous = anonymousCaller(fullAccess)
const eve: SignedInCaller = { ...ada, user: { ...ada.user, id: 'https://provider#eve', sub: 'eve' } }

beforeEach(async () => {
  got = []
  gone = 0
  reported = []
  records = []
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('close', () => void (gone += response.writableFinished ? 0 : 1))
    request.on('end', () => {
      const each = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      got.push(each)
      answer(response, each)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp?tenant=1`
  open({})
})

afterEach(async () => {
  await endpoint.close()
  server.closeAllConnections()
  server.close()
})

function open(
  changes: Partial<HttpUpstream>,
  identify: (caller: Caller) => Promise<Record<string, string>> = async ({ user }) =>
    user ? { 'drawbridge-assertion': `assertion of ${user.sub}` } : {},
): void {
  const reading = upstreamAt(url)
  if (reading.kind !== 'read') throw new Error('The address is faulty.')
  endpoint = createRelayEndpoint({
    upstream: { ...(reading.value as HttpUpstream), ...changes },
    identify,
    sealer,
    ring,
    runtime,
    report: (event, { reason, status }) =>
      reported.push({ event, ...(reason && { reason }), ...(status && { status }) }),
  })
}

async function send(
  text: string | undefined,
  {
    caller = ada,
    headers = {},
    method = 'POST',
    signal,
  }: {
    caller?: Caller
    headers?: Record<string, string>
    method?: string
    signal?: AbortSignal
  } = {},
): Promise<Response> {
  const request = new Request('https://mcp.example.com/mcp', {
    method,
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    ...(signal && { signal }),
  })
  const calls = new IncomingCalls({
    caller,
    revision: undefined,
    requestBytes: 0,
    report: (event, fields) => records.push({ event, ...fields }),
    nowMs: () => 0,
  })
  const body: unknown = text === undefined ? undefined : JSON.parse(text)
  return toResponse(await endpoint.handle(request, body, caller, calls, text))
}

function json(
  response: ServerResponse,
  text: string,
  headers: Record<string, string> = {},
  status = 200,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(text)
}

/** Makes the upstream answer everything with this text. */
function answerWith(...given: [text: string, headers?: Record<string, string>, status?: number]): void {
  answer = (response) => json(response, ...given)
}

/** Expects what came back to have this status and to match this JSON. */
async function expectReply(reply: Promise<Response>, status: number, body: object): Promise<void> {
  const response = await reply
  expect([response.status, await response.json()]).toMatchObject([status, body])
}

/** Begins a stream with these parts of events. */
function events(response: ServerResponse, ...parts: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  for (const part of parts) response.write(part)
}

const call = (name: string, id: number | string = 1): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":"${name}"}}`
const resultOf = (id: number | string, text: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"${text}"}]}}`

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
const empty = '{"jsonrpc":"2.0","id":1,"result":{}}'
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

describe('a message', () => {
  it('a relayed message and its response are passed on unchanged, to the letter', async () => {
    const text =
      '{ "jsonrpc":"2.0", "id":1, "method":"ping", "params":{"n":12345678901234567890, "x":"\\u00e9"} }'
    const said = '{"result": {"n":98765432109876543210, "unknown":[1e400]}, "jsonrpc":"2.0","id":1}'
    answerWith(said)
    const response = await send(text)
    expect(got.map(({ body }) => body)).toEqual([text])
    expect(response.status).toBe(200)
    expect(await response.text()).toBe(said)
  })

  it.each([
    ['of 64 Ki characters', 65_536],
    ['of 64 Ki characters and one', 65_537],
    ['of 200,000 characters', 200_000],
  ])('a relayed message %s is passed on whole, with its length in bytes', async (_, length) => {
    const start = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"é'
    const text = `${start}${'x'.repeat(length - start.length - 3)}"}}`
    answerWith(empty)
    expect((await send(text)).status).toBe(200)
    expect(text).toHaveLength(length)
    expect(got[0]?.body).toBe(text)
    expect(got[0]?.headers['content-length']).toBe(String(length + 1))
    expect(got[0]?.headers).not.toHaveProperty('transfer-encoding')
  })

  it('a relayed message is passed on with the headers of MCP and none that identifies the client', async () => {
    open({ headers: { 'x-api-key': 'key of the door' }, forward: ['accept-language'] })
    const tracing = { traceparent: '00-1-1-01', tracestate: 'a=1', baggage: 'b=2' }
    answerWith(empty)
    await send(ping, {
      headers: {
        'accept-language': 'de',
        'mcp-protocol-version': '2025-11-25',
        ...tracing,
        authorization: 'Bearer of the client',
        cookie: 'session=1',
        forwarded: 'for=1.1.1.1',
        'content-type': 'application/json; charset=utf-7',
        'x-forwarded-user': 'eve',
        'x-forwarded-email': 'eve@example.com',
        'x-forwarded-for': '1.1.1.1',
        'drawbridge-assertion': 'forged',
        'x-api-key': 'forged',
        'x-real-ip': '1.1.1.1',
        'x-anything': '1',
      },
    })
    const { host, connection, 'content-length': length, ...headers } = got[0]?.headers ?? {}
    expect([host, connection, length]).toEqual([new URL(url).host, 'keep-alive', String(ping.length)])
    expect(headers).toEqual({
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'accept-language': 'de',
      'mcp-protocol-version': '2025-11-25',
      ...tracing,
      'drawbridge-assertion': 'assertion of ada',
      'x-api-key': 'key of the door',
    })
  })

  it('a relayed response comes without cookies, challenges and other headers that are not about it', async () => {
    answerWith(empty, {
      'set-cookie': 'a=1',
      'www-authenticate': 'Bearer',
      'access-control-allow-origin': '*',
      'strict-transport-security': 'max-age=1',
      location: 'https://elsewhere',
      'retry-after': '7',
    })
    const response = await send(ping)
    expect(Object.fromEntries(response.headers)).toEqual({
      'content-type': 'application/json',
      'retry-after': '7',
    })
  })

  it("a relayed request gets an error if the upstream's JSON does not answer it", async () => {
    for (const said of [resultOf(2, 'other'), '[]', 'null', '{"jsonrpc":"2.0"}']) {
      answerWith(said)
      await expectReply(send(ping), 502, { id: 1, error: {} })
    }
  })

  it('a relayed request is not answered by empty JSON', async () => {
    answer = (response) => json(response, '', { 'content-length': '0' })
    expect((await send(ping)).status).toBe(502)
  })

  it.each<[what: string, answers: (response: ServerResponse) => void]>([
    ['202', (response) => response.writeHead(202).end()],
    [
      '202 with a text',
      (response) => response.writeHead(202, { 'content-type': 'text/plain' }).end('Accepted'),
    ],
    ['204', (response) => response.writeHead(204).end()],
    ['200 and a length of 0', (response) => json(response, '', { 'content-length': '0' })],
    [
      '200 and nothing in chunks',
      (response) => {
        response.writeHead(200, { 'content-type': 'text/plain' }).flushHeaders()
        response.end()
      },
    ],
    ['200 and {}', (response) => json(response, '{}')],
    ['200 and null', (response) => json(response, 'null')],
    ['200 and a page', (response) => json(response, '<html>', { 'content-type': 'text/html' })],
    ['201 and an error', (response) => json(response, '{"error":"none"}', {}, 201)],
    ['200 and a stream without an end', (response) => events(response, ': open\n\n')],
  ])(
    'a relayed message without a request gets 202 without a body if the upstream answers %s',
    async (_what, answers) => {
      answer = answers
      for (const text of ['{"jsonrpc":"2.0","method":"notifications/initialized"}', resultOf('q', 'yes')]) {
        const response = await send(text)
        expect([response.status, await response.text()]).toEqual([202, ''])
      }
      expect(reported).toEqual([])
    },
  )

  it('a relayed message of 2026-07-28 with headers that disagree is refused', async () => {
    answerWith(resultOf(1, 'done'))
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"at":{"region":"eu","zone":3}},${meta}}}`
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }
    for (const wrong of [{ 'mcp-name': 'b' }, { 'mcp-name': 'a', 'mcp-method': 'tools/list' }]) {
      await expectReply(send(text, { headers: { ...headers, ...wrong } }), 400, {
        id: 1,
        error: { code: -32_020 },
      })
    }
    expect(got).toEqual([])
    const params = { 'mcp-param-region': 'eu', 'mcp-param-zone': '3' }
    const right = { ...headers, 'mcp-name': 'a', ...params, 'mcp-of-later': 'x' }
    expect((await send(text, { headers: { ...right, 'mcp-param-other': 'somebody-elses' } })).status).toBe(
      200,
    )
    expect(got[0]?.headers).toMatchObject(right)
    expect(got[0]?.headers).not.toHaveProperty('mcp-param-other')
    const list = text.replace('"method":"tools/call"', '"method":"tools/list"')
    expect(
      (await send(list, { headers: { ...headers, 'mcp-method': 'tools/list', 'mcp-name': 'a' } })).status,
    ).toBe(200)
    expect(got[1]?.headers).not.toHaveProperty('mcp-name')
    const notice = text.replace('"id":1,', '').replace('tools/call', 'notifications/cancelled')
    expect((await send(notice, { headers })).status).toBe(400)
  })

  it('a relayed message of an earlier revision is passed on without the headers of 2026-07-28', async () => {
    answerWith(resultOf(1, 'done'))
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'delete_all', 'mcp-param-region': 'eu' }
    const text = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'
    expect((await send(text, { headers })).status).toBe(200)
    expect(Object.keys(got[0]?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^mcp-(?:method|name|param)/)]),
    )
  })
})

describe('a stream', () => {
  it('a relayed stream is passed on event by event, with ids, types, comments and retry times', async () => {
    answer = (response) => {
      events(
        response,
        ': hello\n\nid: 1\ndata:\n\nretry: 50\n\n',
        'event: message\nid: 2\nda',
        'ta: {"jsonrpc":"2.0","method":"x"}\n\n',
      )
      response.end(`id: 3\r\ndata: ${resultOf(1, 'done')}\r\n\r\n`)
    }
    const response = await send(call('slow'))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(await response.text()).toBe(
      `: hello\n\nid: 1\ndata: \n\nretry: 50\n\nid: 2\nevent: message\ndata: {"jsonrpc":"2.0","method":"x"}\n\nid: 3\ndata: ${resultOf(1, 'done')}\n\n`,
    )
    expect(records).toMatchObject([{ event: 'tool_called', tool: 'slow', outcome: 'ok' }])
  })

  it('a relayed stream is passed on at once, however long the rest takes', async () => {
    let finish = (): void => {}
    answer = (response) => {
      events(response, 'data: {"jsonrpc":"2.0","method":"x"}\n\n')
      finish = () => void response.end(`data: ${resultOf(1, 'done')}\n\n`)
    }
    const { body } = await send(call('slow'))
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    const next = async (): Promise<string> => Buffer.from((await reader.read()).value ?? []).toString()
    expect(await next()).toBe('data: {"jsonrpc":"2.0","method":"x"}\n\n')
    expect(records).toEqual([])
    finish()
    expect(await next()).toBe(`data: ${resultOf(1, 'done')}\n\n`)
    expect(await next()).toBe('')
    expect(records).toMatchObject([{ tool: 'slow', outcome: 'ok' }])
  })

  it('a relayed stream that breaks off answers open requests with an error', async () => {
    answer = (response) => {
      events(response, 'data: {"jsonrpc":"2.0","method":"x"}\n\n')
      setTimeout(() => response.destroy(), 20)
    }
    const text = await (await send(call('slow', 'seven'))).text()
    expect(text).toContain('"id":"seven"')
    expect(text).toContain('broke off its answer')
    expect(reported).toEqual([{ event: 'upstream_failed', reason: 'broken' }])
    expect(records).toMatchObject([{ outcome: 'failed' }])
  })

  it('a relayed stream that ends early with event ids can be resumed, so there is no error', async () => {
    answer = (response) => {
      events(response, 'id: 1\ndata:\n\n')
      response.end()
    }
    expect(await (await send(call('slow'))).text()).toBe('id: 1\ndata: \n\n')
    expect(reported).toEqual([])
  })

  it.each<[what: string, text: string, reason: string]>([
    ['of what is not JSON', 'data: {nonsense\n\n', 'bad_answer'],
    ['whose event does not end', `data: ${'x'.repeat(70_000)}`, 'too_large'],
  ])('a relayed stream %s ends with an error', async (_what, text, reason) => {
    open({ maxBodyBytes: 65_536 })
    answer = (response) => events(response, text)
    expect(await (await send(call('slow'))).text()).toContain('"id":1,"error"')
    expect(reported).toEqual([{ event: 'upstream_failed', reason }])
    await expect.poll(() => gone).toBe(1)
  })

  it('a relayed stream may be longer than the limit of an event', async () => {
    open({ maxBodyBytes: 65_536 })
    const event = `data: {"jsonrpc":"2.0","method":"${'x'.repeat(10_000)}"}\n\n`
    answer = (response) => {
      events(response, event.repeat(10))
      response.end(`data: ${resultOf(1, 'done')}\n\n`)
    }
    expect(await (await send(call('slow'))).text()).toBe(
      `${event.repeat(10)}data: ${resultOf(1, 'done')}\n\n`,
    )
    expect(reported).toEqual([])
  })

  it('a relayed stream ends at the upstream when the client leaves', async () => {
    answer = (response) => events(response, 'data: {"jsonrpc":"2.0","method":"x"}\n\n')
    const response = await send(call('slow'))
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await expect.poll(() => gone).toBe(1)
    expect(records).toMatchObject([{ outcome: 'cancelled' }])
    expect(reported).toEqual([])
  })

  it('a relayed stream for notifications is requested with the last id, and ends when the server drains', async () => {
    answer = (response) => events(response, 'id: 8\ndata: {"jsonrpc":"2.0","method":"x"}\n\n')
    const response = await send(undefined, { method: 'GET', headers: { 'last-event-id': '7' } })
    expect(got[0]).toMatchObject({ method: 'GET', headers: { 'last-event-id': '7' } })
    const text = response.text()
    endpoint.endStreams()
    await text
    await expect.poll(() => gone).toBe(1)
  })
})

describe('a session', () => {
  const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
  const start = async (caller: Caller): Promise<string> =>
    (await send(initialize, { caller })).headers.get('mcp-session-id') ?? ''

  beforeEach(() => {
    answer = (response, { method }) => {
      if (method === 'DELETE') response.writeHead(200).end()
      else json(response, empty, { 'mcp-session-id': 'session of ada' })
    }
  })

  it("a relayed session has a sealed id for the client, which leads to the upstream's id", async () => {
    const id = await start(ada)
    expect(id).not.toContain('session of ada')
    const response = await send(ping, { headers: { 'mcp-session-id': id } })
    expect(response.headers.get('mcp-session-id')).toBe(id)
    expect((await send(undefined, { method: 'DELETE', headers: { 'mcp-session-id': id } })).status).toBe(200)
    expect(got.map(({ headers }) => headers['mcp-session-id'])).toEqual([
      undefined,
      'session of ada',
      'session of ada',
    ])
  })

  it.each<[whose: string, caller: SignedInCaller, sealed: (id: string) => string]>([
    ["another user's", eve, (id) => id],
    ["another client's", { ...ada, clientId: 'mcpc_2' }, (id) => id],
    ['that of another workspace', { ...ada, workspace: { id: 'b', name: 'B' } }, (id) => id],
    ['a made up', ada, (id) => `${id}A`],
    ["the upstream's own", ada, () => 'session of ada'],
  ])(
    'a session id that the relay did not give the caller is not found, without asking the upstream: %s',
    async (_whose, caller, sealed) => {
      const id = sealed(await start(ada))
      await expectReply(send(ping, { caller, headers: { 'mcp-session-id': id } }), 404, {
        id: 1,
        error: { code: -32_001 },
      })
      expect(got).toHaveLength(1)
    },
  )

  it('a relayed session that began without a sign-in continues for its client after the sign-in, and for no other', async () => {
    const id = await start(anonymous)
    const headers = { 'mcp-session-id': id }
    expect((await send(ping, { caller: ada, headers })).status).toBe(200)
    expect(got.map(({ headers: sent }) => sent['drawbridge-assertion'])).toEqual([
      undefined,
      'assertion of ada',
    ])
    const own = { 'mcp-session-id': await start(ada) }
    expect((await send(ping, { caller: anonymous, headers: own })).status).toBe(404)
  })

  it('a relayed session that the upstream has forgotten is reported as not found', async () => {
    const id = await start(ada)
    answer = (response) => response.writeHead(404).end('gone')
    await expectReply(send(ping, { headers: { 'mcp-session-id': id } }), 404, {
      id: 1,
      error: { code: -32_001 },
    })
    expect(reported).toEqual([])
  })
})

describe('policy', () => {
  const listed = (...names: string[]): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: names.map((name) => ({ name })), next: 1 } })
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  const policy = {
    allow: ['*'],
    deny: ['debug_*'],
    publicTools: new Set<string>(),
    scopes: [['delete_*', 'notes:write']] as const,
  }

  beforeEach(() => open({ policy }))

  it.each<[where: string, asked: string | undefined, form: (list: string) => string]>([
    ['that is JSON', list, (text) => text],
    ['that is an event', list, (text) => `data: ${text}\n\n`],
    ['on a stream that is resumed', undefined, (text) => `id: 7\ndata: ${text}\n\n`],
    ['in a batch', `[${list}]`, (text) => `[${text}]`],
    ['in an answer to something else', ping, (text) => text],
    ['in a message that has a method too', list, (text) => text.replace('{', '{"method":"x",')],
  ])('the relay removes hidden tools from a list %s', async (_where, asked, form) => {
    const said = form(listed('read', 'debug_x', 'delete_a'))
    const type = /^(?:id|data):/.test(said) ? 'text/event-stream' : 'application/json'
    answerWith(said, { 'content-type': type })
    const how = asked === undefined ? { method: 'GET', headers: { 'last-event-id': '6' } } : {}
    expect(await (await send(asked, how)).text()).toContain(
      '"tools":[{"name":"read"},{"name":"delete_a"}],"next":1}',
    )
  })

  it("the relay removes tools beyond the caller's scopes from a list, and knows all of them", async () => {
    answerWith(listed('read', 'debug_x', 'delete_a'))
    const poor: SignedInCaller = {
      ...ada,
      access: { kind: 'allowed', scopes: ['mcp'], allowsTool: undefined },
    }
    expect(await (await send(list, { caller: poor })).text()).toContain('"tools":[{"name":"read"}],"next":1}')
    for (const name of ['read', 'debug_x'])
      expect(endpoint.has({ event: 'tool_called', field: 'tool', name })).toBe(true)
  })

  it("the relay adds security schemes if a tool is public, and keeps the upstream's own", async () => {
    await endpoint.close()
    open({ policy: { ...policy, publicTools: new Set(['read']) } })
    const tools = [{ name: 'read', _meta: { ui: 1 } }, { name: 'delete_a' }, { name: 'debug_x' }]
    answerWith(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } }))
    const anybody = [{ type: 'noauth' }, { type: 'oauth2', scopes: ['mcp'] }]
    const writer = [{ type: 'oauth2', scopes: ['mcp', 'notes:write'] }]
    for (const caller of [ada, anonymous]) {
      expect(await (await send(list, { caller })).json()).toMatchObject({
        result: {
          tools: [
            { name: 'read', securitySchemes: anybody, _meta: { ui: 1, securitySchemes: anybody } },
            { name: 'delete_a', securitySchemes: writer, _meta: { securitySchemes: writer } },
          ],
        },
      })
    }
  })

  it.each<[what: string, result: object, cursor: unknown, isOffered: boolean]>([
    ['there is a tool that others may see', { tools: [{ name: 'read' }, { name: 'more' }] }, undefined, true],
    ['the cursor of the first page is null', { tools: [{ name: 'read' }, { name: 'more' }] }, null, true],
    ['there may be one on the next page', { tools: [{ name: 'read' }], nextCursor: '2' }, undefined, true],
    ['it is the second page', { tools: [{ name: 'more' }] }, '2', false],
    ['nobody may see more', { tools: [{ name: 'read' }, { name: 'least' }] }, undefined, false],
    ['the operator hides the rest', { tools: [{ name: 'read' }, { name: 'debug_x' }] }, undefined, false],
  ])(
    'the relay offers anonymous callers a sign-in where rules hide tools from them: %s',
    async (_, result, cursor, isOffered) => {
      await endpoint.close()
      const publicTools = new Set(['read'])
      open({ policy: { ...policy, publicTools } })
      answerWith(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
      const access = { ...fullAccess, allowsTool: (name: string) => publicTools.has(name) }
      const caller = anonymousCaller(access, (name) => name !== 'least')
      const asked = JSON.stringify({
        ...JSON.parse(list),
        ...(cursor !== undefined && { params: { cursor } }),
      })
      const names = async (by: Caller): Promise<string[]> => {
        const answered = (await (await send(asked, { caller: by })).json()) as {
          result: { tools: { name: string }[] }
        }
        return answered.result.tools.map(({ name }) => name)
      }
      expect((await names(caller)).includes('sign_in')).toBe(isOffered)
      expect(await names(ada)).not.toContain('sign_in')
      expect(await names(anonymous)).not.toContain('sign_in')
    },
  )

  it('the relay leaves a list without hidden tools unchanged, except that caches must not share it', async () => {
    answerWith(` ${listed('read')}`)
    expect(await (await send(list)).text()).toBe(` ${listed('read')}`)
    answerWith('{"jsonrpc":"2.0","id":1,"result":{"tools":[],"cacheScope":"public","ttlMs":9}}')
    expect(await (await send(list)).json()).toMatchObject({ result: { cacheScope: 'private', ttlMs: 9 } })
    const read = '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://one"}}'
    answerWith('{"jsonrpc":"2.0","id":1,"result":{"contents":[],"cacheScope":"public"}}')
    expect(await (await send(read)).json()).toMatchObject({ result: { cacheScope: 'private' } })
  })

  it('the relay reports hidden tools as unknown, alone and in a batch', async () => {
    const caller: SignedInCaller = {
      ...ada,
      access: { kind: 'allowed', scopes: undefined, allowsTool: (name) => name !== 'secret' },
    }
    for (const name of ['debug_x', 'secret']) {
      const response = await send(call(name), { caller })
      expect(await response.json()).toMatchObject({ id: 1, error: { code: -32_602 } })
    }
    const batch = await send(`[${call('read', 1)},${call('debug_x', 2)}]`, { caller })
    expect(await batch.json()).toMatchObject([
      { id: 1, error: {} },
      { id: 2, error: {} },
    ])
    expect(got).toEqual([])
    expect(records.map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['debug_x', 'refused_rule'],
      ['secret', 'refused_rule'],
      ['debug_x', 'refused_rule'],
    ])
  })

  it('the relay records how calls end', async () => {
    answer = (response, { body }) =>
      json(
        response,
        body.includes('bad')
          ? '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}'
          : body.includes('none')
            ? '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}'
            : resultOf(1, 'done'),
      )
    for (const name of ['read', 'bad', 'none']) await send(call(name))
    const ends = (): unknown[] =>
      records.splice(0).map(({ tool, outcome, unknown, unlisted }) => [tool, outcome, { unknown, unlisted }])
    // The upstream has listed nothing yet: what failed may be there.
    expect(ends()).toEqual([
      ['read', 'ok', {}],
      ['bad', 'tool_error', { unlisted: true }],
      ['none', 'failed', { unlisted: true }],
    ])
    const answerCalls = answer
    const pages = { '"tools/list"}': '"nextCursor":"2"', '"cursor":"2"': '"x":1' }
    for (const [asked, more] of Object.entries(pages)) {
      const tools = asked.includes('cursor') ? '{"name":"bad"}' : '{"name":"debug_x"}'
      answerWith(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}],${more}}}`)
      const cursor = asked.includes('cursor') ? ',"params":{"cursor":"2"}' : ''
      await send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"${cursor}}`)
    }
    answer = answerCalls
    for (const name of ['bad', 'none', 'made_up', 'debug_x']) await send(call(name))
    expect(ends()).toEqual([
      ['bad', 'tool_error', {}],
      ['none', 'failed', { unknown: true }],
      ['made_up', 'ok', { unlisted: true }],
      ['debug_x', 'refused_rule', {}],
    ])
  })
})

it('the relay does not report a tool as unknown before the first page was read', async () => {
  answer = (response, { body }) =>
    json(
      response,
      body.includes('list')
        ? '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'
        : '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}',
    )
  await send('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}')
  await send(call('read'))
  expect(records.at(-1)).toMatchObject({ outcome: 'failed', unlisted: true })
})

describe('streams', () => {
  const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{${meta}}}`
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' }
  const openOne = (how: 'GET' | 'listen', caller: Caller = ada): Promise<Response> =>
    how === 'GET' ? send(undefined, { method: 'GET', caller }) : send(listen, { headers, caller })

  it('relayed streams are limited to 64 per user, counted before the upstream is asked, until they end', async () => {
    answer = (response, { body }) => {
      if (body.includes('quick')) return json(response, resultOf(1, 'no stream'))
      events(response, ': open\n\n')
      if (body.includes('short')) response.end(`data: ${resultOf(1, 'over')}\n\n`)
    }
    // What answers at once takes no place.
    for (const how of ['quick', 'short'])
      for (let i = 0; i < 70; i++)
        await (await send(listen.replace('"id":1', `"id":1,"${how}":1`), { headers })).text()
    got = []
    const opened = await Promise.all(Array.from({ length: 66 }, (_, i) => openOne(i % 2 ? 'GET' : 'listen')))
    expect(opened.filter(({ status }) => status === 200)).toHaveLength(64)
    expect(opened.filter(({ status }) => status === 429)).toHaveLength(2)
    expect(got).toHaveLength(64)
    expect((await openOne('GET', eve)).status).toBe(200)
    await opened[0]?.body?.cancel()
    expect((await openOne('listen')).status).toBe(200)
  })

  it.each(['subscriptions/listen', 'initialize'])('relayed streams refuse a long %s', async (method) => {
    const text = `{"jsonrpc":"2.0","id":7,"method":"${method}","params":{"pad":"${'x'.repeat(65_536)}"}}`
    answerWith(resultOf(7, 'served'))
    await expectReply(send(text), 400, { id: 7 })
    expect(got).toEqual([])
  })
})

describe('a task', () => {
  const about = (method: string, taskId: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"taskId":"${taskId}","n":1e400,${meta}}}`
  const ask = (method: string, taskId: string, caller: Caller = ada): Promise<Response> =>
    send(about(method, taskId), {
      caller,
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': taskId },
    })
  const start = async (caller: Caller = ada): Promise<string> => {
    const made = (await (await send(call('long'), { caller })).json()) as { result: { taskId: string } }
    return made.result.taskId
  }

  beforeEach(() => {
    answerWith('{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"task-1","status":"working"}}')
  })

  it('a relayed task has an id that only its user can use, in one workspace, and that is always the same', async () => {
    const id = await start()
    expect([id === 'task-1', await start()]).toEqual([false, id])
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      got = []
      const response = await ask(method, id)
      expect(await response.json()).toMatchObject({ result: { taskId: id } })
      expect(got[0]).toMatchObject({ headers: { 'mcp-name': 'task-1' }, body: about(method, 'task-1') })
      for (const [caller, name] of [
        [eve, id],
        [{ ...ada, workspace: { id: 'b', name: 'B' } }, id],
        [ada, 'task-1'],
        [ada, `${id.slice(0, -1)}!`],
      ] as const) {
        got = []
        expect(await (await ask(method, name, caller)).json()).toMatchObject({ error: { code: -32_602 } })
        expect(got).toEqual([])
      }
    }
  })

  it.each([
    ['tasks/get', '"taskId":1'],
    ['tasks/cancel', '"taskId":["task-1"]'],
    ['tasks/result', '"taskId":{"id":"task-1"}'],
    ['subscriptions/listen', '"notifications":{"taskIds":[["task-1"]]}'],
    ['subscriptions/listen', '"notifications":{"taskIds":[1]}'],
    ['subscriptions/listen', '"notifications":{"taskIds":"task-1"}'],
    ['subscriptions/listen', '"notifications":{"taskIds":{"0":"task-1"}}'],
  ])(
    'a relayed task cannot be named by a value that a server may read as its id: %s with %s',
    async (method, params) => {
      got = []
      const response = await send(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${params}}}`)
      expect(await response.json()).toMatchObject({ error: { code: -32_602 } })
      expect(got).toEqual([])
    },
  )

  it('a relayed task is found by a key that another instance has just started to use', async () => {
    const keys = [sampleKey('k', 1)]
    const added = [sampleKey('new', 2), ...keys]
    const refresh = (): void => void keys.unshift(...added.slice(0, 1))
    const given = new TaskIds(fixedKeyRing(added)).give('task-1', ada)
    expect(new TaskIds({ keys: () => keys, refresh }).own(given, ada)).toBe('task-1')
  })

  it('a relayed task is named by that id in filters, lists, notifications and `_meta`', async () => {
    const id = await start()
    const filter = (name: string): string =>
      `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["${name}"]}}}`
    expect(await (await send(filter(id), { caller: eve })).json()).toMatchObject({ error: {} })
    const related = '"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"task-1"}}'
    answer = (response) => {
      const messages = [
        '{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"task-1"}}',
        '{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"task-1"}],"task":{"taskId":"task-1"}}}',
        `{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{${related}}}`,
        // The upstream asks for a task of the client's own.
        '{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"of the client"}}',
      ]
      events(response, ...messages.map((text) => `data: ${text}\n\n`))
      response.end()
    }
    got = []
    const told = await (await send(filter(id))).text()
    expect(got[0]?.body).toBe(filter('task-1'))
    expect(told).not.toContain('"task-1"')
    expect(told.split(id)).toHaveLength(5)
    expect(told).toContain('"taskId":"of the client"')
    answer = (response) => response.writeHead(202).end()
    const reply = (name: string): string =>
      `{"jsonrpc":"2.0","id":5,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"${name}"}}}}`
    await send(reply(id))
    await send(reply('of the client'))
    expect(got.slice(1).map(({ body }) => body)).toEqual([reply('task-1'), reply('of the client')])
  })
})

describe('the id of a task', () => {
  const related = (taskId: string): object => ({ 'io.modelcontextprotocol/related-task': { taskId } })
  const callOf = (name: string, taskId: string, more: object = {}): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: { taskId: name }, taskId: name, _meta: { ...related(taskId), ...more } },
    })
  const start = async (name: string): Promise<string> => {
    answerWith(`{"jsonrpc":"2.0","id":1,"result":{"taskId":"${name}"}}`)
    const made = (await (await send(call('long'))).json()) as { result: { taskId: string } }
    got = []
    return made.result.taskId
  }

  it('the id of a task is replaced where a message names a task, and in no name, argument or header of a call', async () => {
    const id = await start('delete')
    const claims = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': id }
    await send(callOf(id, id, claims), { headers })
    expect(got).toMatchObject([{ body: callOf(id, 'delete', claims), headers: { 'mcp-name': id } }])
    const batch = `[${callOf(id, id)},{"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"${id}"},"taskId":"${id}"}}]`
    await send(batch)
    expect(got[1]?.body).toBe(batch.replace(`-task":{"taskId":"${id}"`, '-task":{"taskId":"delete"'))
  })

  it("the id of a task that the client chose, and that is not the upstream's, comes back unchanged", async () => {
    answer = (response, { body }) => {
      const { params } = JSON.parse(body) as { params: { _meta: object } }
      json(response, JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [], _meta: params._meta } }))
    }
    expect(await (await send(callOf('a', 'delete'))).json()).toMatchObject({
      result: { _meta: related('delete') },
    })
    const other = await start('delete')
    answerWith(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { _meta: related('delete') } }))
    // What the upstream names by itself gets its mark, also beside another id of the client.
    for (const named of ['mine', other])
      expect(await (await send(callOf('a', named))).json()).toMatchObject({
        result: { _meta: related(other) },
      })
  })

  it('the id of a task is marked in the filter that the upstream acknowledges', async () => {
    const id = await start('task-1')
    const acknowledged =
      '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":["task-1"]}}}'
    answer = (response) => {
      events(response, `data: ${acknowledged}\n\n`)
      response.end()
    }
    const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["${id}"]}}}`
    expect(await (await send(listen)).text()).toContain(`"taskIds":["${id}"]`)
  })
})

describe('events', () => {
  it('events do not reach the upstream, alone or in a batch', async () => {
    const text = '{"jsonrpc":"2.0","id":1,"method":"events/subscribe"}'
    const refusal = { id: 1, error: { code: -32_601 } }
    expect(await (await send(text)).json()).toMatchObject(refusal)
    expect(await (await send(`[${text}]`)).json()).toMatchObject([refusal])
    expect(got).toEqual([])
  })

  it('events are not offered by the relay', async () => {
    const capabilities = {
      tools: {},
      events: { webhook: {} },
      extensions: { 'io.modelcontextprotocol/events': {}, 'io.modelcontextprotocol/tasks': {} },
    }
    answerWith(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { capabilities, serverInfo: {} } }))
    const response = await send('{"jsonrpc":"2.0","id":1,"method":"initialize"}')
    expect(((await response.json()) as { result: unknown }).result).toEqual({
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
      serverInfo: {},
    })
  })
})

/** What frameworks and proxies do to an answer; each element is sent by itself. */
const codings: Record<string, [coding: string, encode: (text: string) => Buffer]> = {
  gzip: ['gzip', gzipSync],
  'gzip by its old name': ['x-gzip', gzipSync],
  br: ['br', brotliCompressSync],
  deflate: ['deflate', deflateSync],
  'deflate without a header': ['deflate', deflateRawSync],
  // Node 22.15 and newer.
  ...(zstdCompressSync && { zstd: ['zstd', zstdCompressSync] }),
  'two codings': ['GZIP, br', (text) => brotliCompressSync(gzipSync(text))],
  'a charset in the place of a coding': ['utf-8', Buffer.from],
}

describe('an upstream that answers', () => {
  it.each(Object.keys(codings))(
    'an upstream that answers with unrequested %s has its JSON and events passed on decoded',
    async (name) => {
      const [coding, encode] = codings[name] ?? ['', Buffer.from]
      const said = resultOf(1, 'größer'.repeat(1000))
      for (const type of ['application/json', 'text/event-stream']) {
        answer = (response) => {
          response.writeHead(200, { 'content-type': type, 'content-encoding': coding })
          response.end(encode(type === 'application/json' ? said : `data: ${said}\n\n`))
        }
        const response = await send(ping)
        expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null])
        expect((await response.text()).replace('data: ', '').trim()).toBe(said)
      }
    },
  )

  it('an upstream that answers with a few compressed bytes that exceed the limit once decompressed fails the call', async () => {
    open({ maxBodyBytes: 1_000_000 })
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb)
    }
    await expectReply(send(ping), 502, { id: 1 })
    expect(reported).toMatchObject([{ event: 'upstream_failed', reason: 'too_large' }])
  })

  it('an upstream that answers with bytes that are not compressed as the header says fails the call', async () => {
    answer = (response) => json(response, empty, { 'content-encoding': 'br' })
    await expectReply(send(ping), 502, { id: 1 })
    expect(reported).toMatchObject([{ event: 'upstream_failed', reason: 'broken' }])
  })

  it.each<[what: string, type: string, text: string]>([
    ['a byte order mark before JSON', 'application/json', `\uFEFF${empty}`],
    ['a byte order mark before the first event', 'text/event-stream', `\uFEFFdata: ${empty}\n\n`],
    ['a byte order mark within an event', 'text/event-stream', `data: \uFEFF${empty}\n\n`],
    ['CR alone as line ends', 'text/event-stream', `event: message\rdata: ${empty}\r\r`],
    ['CRLF as line ends', 'text/event-stream', `event: message\r\ndata: ${empty}\r\n\r\n`],
  ])('an upstream that answers with %s: the client gets the message at once', async (_what, type, text) => {
    // A stream that stays open has to give its last event all the same.
    answer = (response) => {
      response.writeHead(200, { 'content-type': type })
      for (const byte of Buffer.from(text)) response.write(Buffer.of(byte))
      if (type === 'application/json') response.end()
    }
    const response = await send(ping)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes(empty)) {
      const { done, value = '' } = (await reader?.read()) ?? { done: true }
      if (done) break
      seen += value
    }
    expect(seen).toContain(empty)
    expect(seen).not.toMatch(/\uFEFF|\r/)
    await reader?.cancel()
  })
})

describe('a redirect of the upstream', () => {
  const moved =
    (status: number, location: string) =>
    (response: ServerResponse, { path }: Got): unknown =>
      path === '/mcp?tenant=1' ? response.writeHead(status, { location }).end() : json(response, empty)

  it.each([307, 308])(
    'a redirect of the upstream with %i within its origin is followed with the same method, headers and message',
    async (status) => {
      answer = moved(status, '/mcp/?tenant=1')
      await expectReply(send(ping, { headers: { 'mcp-protocol-version': '2025-11-25' } }), 200, { id: 1 })
      expect(got.map(({ method, path, body }) => ({ method, path, body }))).toEqual([
        { method: 'POST', path: '/mcp?tenant=1', body: ping },
        { method: 'POST', path: '/mcp/?tenant=1', body: ping },
      ])
      expect(got[1]?.headers).toEqual(got[0]?.headers)
    },
  )

  it('a redirect of the upstream is followed three times at most', async () => {
    answer = (response, { path }) => response.writeHead(307, { location: `${path}/` }).end()
    await expectReply(send(ping), 502, { id: 1 })
    expect(got).toHaveLength(4)
    expect(reported).toEqual([{ event: 'upstream_failed', reason: 'redirect', status: 307 }])
  })

  it.each<[what: string, status: number, location: (origin: string) => string]>([
    ['to another port', 307, () => 'http://127.0.0.1:1/mcp'],
    ['to another name of the same computer', 308, (origin) => origin.replace('127.0.0.1', 'localhost')],
    ['to another scheme', 307, (origin) => origin.replace('http:', 'https:')],
    ['with a user and a password', 307, (origin) => origin.replace('//', '//a:b@')],
    ['that would make a GET of it', 303, () => '/mcp/'],
    ['that may make a GET of it', 301, () => '/mcp/'],
    ['to the same address', 307, () => '/mcp?tenant=1'],
    ['without an address', 307, () => ''],
  ])('a redirect of the upstream is not followed: %s', async (_what, status, location) => {
    const { origin } = new URL(url)
    answer = moved(status, location(origin))
    await expectReply(send(ping), 502, { id: 1 })
    expect(got).toHaveLength(1)
    expect(reported).toEqual([{ event: 'upstream_failed', reason: 'redirect', status }])
  })
})

describe('an upstream that fails', () => {
  it.each<[status: number, sent: number, reported: object[]]>([
    [401, 502, [{ event: 'upstream_refused', status: 401 }]],
    [302, 502, [{ event: 'upstream_failed', reason: 'redirect', status: 302 }]],
    [404, 502, [{ event: 'upstream_failed', reason: 'bad_answer', status: 404 }]],
    [429, 429, []],
    [503, 503, []],
    [400, 400, []],
  ])(
    'an upstream that fails with %i is %i for the client, without a challenge',
    async (status, sent, events) => {
      answer = (response) => {
        response.writeHead(status, { 'www-authenticate': 'Bearer', 'retry-after': '9', location: '/x' })
        response.end('<html>')
      }
      const response = await send(call('read', 'x'))
      expect([response.status, await response.json()]).toMatchObject([
        sent,
        { id: 'x', error: { code: -32_603 } },
      ])
      expect(response.headers.get('www-authenticate')).toBeNull()
      expect(response.headers.get('retry-after')).toBe(sent === status && events.length === 0 ? '9' : null)
      expect(reported).toEqual(events)
      expect(records).toMatchObject([{ outcome: 'failed' }])
    },
  )

  it('an upstream that refuses a service names the token of a person as a reason', async () => {
    answer = (response) => response.writeHead(401).end()
    const response = await send(call('read', 'x'), { caller: { ...ada, credential: 'service' } })
    expect(await response.text()).toContain('connect a person')
  })

  it('an upstream that fails with 403 makes an anonymous caller sign in', async () => {
    answer = (response) => response.writeHead(403).end()
    await expect(send(ping, { caller: anonymous })).rejects.toBeInstanceOf(SignInNeededError)
    expect(reported).toEqual([])
  })

  it.each<[what: string, answers: (response: ServerResponse) => void, status: number, reason: string]>([
    ['closes the connection', (response) => response.destroy(), 502, 'broken'],
    ['sends what is not JSON', (response) => json(response, '{no'), 502, 'bad_answer'],
    ['sends a page', (response) => json(response, '{}', { 'content-type': 'text/html' }), 502, 'bad_answer'],
    [
      'sends more than may be',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const writing = setInterval(() => response.write('x'.repeat(65_536)), 1)
        response.on('close', () => clearInterval(writing))
      },
      502,
      'too_large',
    ],
    [
      'breaks off in the middle',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
        response.write('{')
        setTimeout(() => response.destroy(), 20)
      },
      502,
      'broken',
    ],
    ['does not answer', () => {}, 504, 'timeout'],
  ])(
    'an upstream that fails because it %s gives an error with the id',
    async (_what, answers, status, reason) => {
      open({ timeoutSeconds: 1, maxBodyBytes: 1_000_000 })
      answer = answers
      await expectReply(send(call('read', 'x')), status, { id: 'x', error: { code: -32_603 } })
      expect(reported).toMatchObject([{ event: 'upstream_failed', reason }])
      if (reason !== 'bad_answer') await expect.poll(() => gone).toBe(1)
    },
  )

  it('an upstream that is down gives an error with the id', async () => {
    url = `http://127.0.0.1:${await freePort()}/mcp`
    open({})
    await expectReply(send(ping), 502, { id: 1 })
    expect(reported).toEqual([{ event: 'upstream_failed', reason: 'unreachable' }])
    await expect(endpoint.ping()).rejects.toThrow('unreachable')
  })

  it('an upstream that fails is not reported when a client has disconnected, and not called without an identity', async () => {
    answer = () => {}
    const leaving = new AbortController()
    const sent = send(call('read'), { signal: leaving.signal })
    await expect.poll(() => got.length).toBe(1)
    leaving.abort()
    expect((await sent).status).toBe(499)
    await expect.poll(() => gone).toBe(1)
    expect(records).toMatchObject([{ outcome: 'cancelled' }])
    expect(reported).toEqual([])

    open({}, () => Promise.reject(new Error('no key')))
    const response = await send(ping)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect(got).toHaveLength(1)
  })
})
