import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import {
  type CollectedSpan,
  type OtlpCollector,
  startOtlpCollector,
} from '../../../tests/support/otlp-collector.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { observeFetch } from '../operation-observer.ts'
import { openTelemetry, telemetryProblems } from './telemetry-switch.ts'
import type { ServingContext } from '@drawbridge/shared/trace-context.ts'
import type { Telemetry } from './telemetry.ts'

const [server, client] = [2, 3]
let collector: OtlpCollector
let telemetry: Telemetry
let lastId = 0
/** Of the message of each test: a trace of its own. */
let trace: string
beforeAll(async () => {
  collector = await startOtlpCollector()
  for (const [name, value] of Object.entries(collector.environment)) vi.stubEnv(name, value)
  const program = { version: '1', store: 'sqlite' }
  const opened = await openTelemetry(process.env, program, () => expect.fail('the collector is there'))
  telemetry = opened as Telemetry
})
beforeEach(() => {
  lastId += 1
  trace = String(lastId).padStart(32, '0')
})
afterAll(async () => {
  expect(await telemetry.close()).toBe(true)
  await collector.close()
  vi.unstubAllEnvs()
})

const parent = (digit: string, flags = '01'): string => `00-${trace}-${digit.repeat(16)}-${flags}`

interface Serving {
  headers?: Record<string, string>
  /** Null without a caller. */
  sub?: string | null
  reply?: Reply
  during?: (context: ServingContext) => unknown
}

/** Serves a message; returns what those who serve it get. */
async function serve(
  message: unknown,
  { headers = {}, sub = 'ada', reply, during }: Serving = {},
): Promise<unknown> {
  const request = new Request('https://mcp.example.com/mcp', { method: 'POST', headers })
  let served: unknown
  const context: ServingContext = { id: String(lastId), report() {}, trace: (incoming) => incoming.message }
  await telemetry.serve(request, context, async (watched) => {
    const meta = (message as { params?: { _meta?: { traceparent?: string } } }).params?._meta
    const { traceparent } = meta ?? {}
    served = watched.trace?.({ message, traceparent, revision: '2025-11-25', sub: sub ?? undefined })
    await during?.(watched)
    return reply ?? { status: 200, headers: {}, body: '{}' }
  })
  return served
}

const call = (name: string, meta?: object): object => ({
  id: 1,
  method: 'tools/call',
  params: { name, ...(meta && { _meta: meta }) },
})

const calledAs = (tool: string, known: object): [message: object, serving: Serving] => [
  call(tool),
  { during: ({ report }) => report('tool_called', { tool, outcome: 'ok', ...known }) },
]

const spanOf = (kind: number): Promise<CollectedSpan> =>
  collector.span((span) => span.traceId === trace && span.kind === kind)

describe('OpenTelemetry', () => {
  it.each<
    [what: string, header: string | undefined, meta: string | undefined, parent: string, links: string[]]
  >([
    ['the header', 'a', undefined, 'a', []],
    ['the message', undefined, 'b', 'b', []],
    ['both, which are the same', 'a', 'a', 'a', []],
    ['both, of which the message counts and the other is linked', 'a', 'b', 'b', ['a']],
  ])('a trace takes the parent from %s', async (_, header, meta, expected, links) => {
    const served = await serve(
      call('t', meta === undefined ? undefined : { traceparent: parent(meta), k: 1 }),
      {
        headers: header === undefined ? {} : { traceparent: parent(header), tracestate: 's=1' },
      },
    )
    const span = await spanOf(server)
    expect([span.parentSpanId, span.links]).toEqual([
      expected.repeat(16),
      links.map((digit) => digit.repeat(16)),
    ])
    expect(served).toMatchObject({
      params: { name: 't', _meta: { traceparent: `00-${trace}-${span.spanId}-01`, ...(meta && { k: 1 }) } },
    })
  })

  it('a caller without a credential gets a trace of its own, linked to the one that it names, sampled or not', async () => {
    const served = await serve(call('t', { traceparent: parent('b', '00') }), {
      sub: null,
      headers: { traceparent: parent('a') },
    })
    const span = await collector.span(({ links }) => links.join() === `${'b'.repeat(16)},${'a'.repeat(16)}`)
    expect(span.parentSpanId ?? '').toBe('')
    expect(span.traceId).not.toBe(trace)
    expect(served).toMatchObject({
      params: { _meta: { traceparent: `00-${span.traceId}-${span.spanId}-01` } },
    })
  })

  it('a request that is refused unread gets a trace of its own, linked to the one that it names', async () => {
    const request = new Request('https://mcp.example.com/mcp', {
      method: 'POST',
      headers: { traceparent: parent('c', '00') },
    })
    const refused = { status: 401, headers: {}, body: null }
    await telemetry.serve(request, { id: String(lastId), report() {} }, () => refused)
    const span = await collector.span(({ links }) => links.includes('c'.repeat(16)))
    expect([span.name, span.parentSpanId ?? '']).toEqual(['POST /mcp', ''])
    expect(span.traceId).not.toBe(trace)
  })

  it.each<[message: object, name: string, attributes: object]>([
    [call('add_note'), 'tools/call add_note', { 'gen_ai.tool.name': 'add_note', 'enduser.id': 'ada' }],
    [call(`mcpa_${'x'.repeat(30)}`), 'tools/call [redacted]', { 'gen_ai.tool.name': '[redacted]' }],
    [{ id: 1, method: 'prompts/get', params: { name: 'p' } }, 'prompts/get p', { 'gen_ai.prompt.name': 'p' }],
    [{ id: 1, method: 'resources/read', params: { uri: 'a:b' } }, 'resources/read', {}],
    [{ method: 'notifications/initialized' }, 'notifications/initialized', {}],
    ...['said by a person', 'tools/said by', 'notifications/said_by', 'saidby'].map((method) => [
      { id: 1, method },
      '_OTHER',
      { 'mcp.method.name': '_OTHER' },
    ]),
    [[call('first'), call('second')], 'tools/call first', {}],
  ] as [object, string, object][])('the span of %j has its name', async (message, name, attributes) => {
    await serve(message, { headers: { traceparent: parent('a') } })
    const span = await spanOf(server)
    expect(span.name).toBe(name)
    expect(span.attributes).toMatchObject({ 'mcp.protocol.version': '2025-11-25', ...attributes })
    expect(JSON.stringify(span)).not.toMatch(/a:b|xxx|said.?by/)
  })

  const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"said"}}'
  it.each<[what: string, serving: Serving, type: string | undefined]>([
    ['a result', {}, undefined],
    ['an error of JSON-RPC', { reply: { status: 200, headers: {}, body: error } }, '-32602'],
    ['a status', { reply: { status: 503, headers: {}, body: null } }, '503'],
    [
      'a tool',
      { during: ({ report }) => report('tool_called', { tool: 't', outcome: 'tool_error' }) },
      'tool_error',
    ],
  ])('the span of %s says whether it is an error', async (_, serving, type) => {
    await serve(call('t'), { headers: { traceparent: parent('a') }, ...serving })
    expect((await spanOf(server)).attributes['error.type']).toBe(type)
  })

  it.each<
    [what: string, made: (n: number) => [message: object, serving: Serving], label: string, values: string[]]
  >([
    [
      'requests with made-up methods',
      (n) => [{ id: 1, method: `made_up/method${n}` }, {}],
      'mcp.method.name',
      ['_OTHER'],
    ],
    [
      'notifications of strangers with made-up methods',
      (n) => [{ method: `notifications/made_up${n}` }, { sub: null }],
      'mcp.method.name',
      ['_OTHER'],
    ],
    [
      'tools that are not listed yet',
      (n) => calledAs(`made_up${n}`, { unlisted: true }),
      'gen_ai.tool.name',
      ['unlisted'],
    ],
    [
      'tools that are unknown',
      (n) => calledAs(`made_up${n}`, { unknown: true }),
      'gen_ai.tool.name',
      ['other'],
    ],
    [
      'codes of errors',
      (n) => [call('t'), { reply: { status: 200, headers: {}, body: `{"error":{"code":${70_000 + n}}}` } }],
      'error.type',
      ['_OTHER'],
    ],
  ])(
    'the metrics of OpenTelemetry have a bounded number of series for %s',
    async (_, made, label, values) => {
      for (let n = 0; n < 200; n += 1) await serve(...made(n))
      const seen = (): unknown[] =>
        collector.points('mcp.server.operation.duration').map((point) => point[label])
      await expect.poll(seen, { timeout: 20_000 }).toEqual(expect.arrayContaining(values))
      expect(new Set(seen().filter((value) => /made.up|^70/.test(String(value)))).size).toBeLessThan(60)
    },
  )

  it('the span of a subscription ends at once, not with its stream', async () => {
    const stream = new Response('data: {}\n\n', { headers: { 'content-type': 'text/event-stream' } })
    await serve(
      { id: 1, method: 'subscriptions/listen' },
      { headers: { traceparent: parent('a') }, reply: stream },
    )
    expect((await spanOf(server)).name).toBe('subscriptions/listen')
  })

  it('a line of the audit trail is in the trace of its request while that is served, later in none', async () => {
    const id = String(lastId)
    const line = (tool: string): string =>
      JSON.stringify({ time: '2026-01-01T00:00:00Z', level: 30, event: 'tool_called', request_id: id, tool })
    await serve(call('t'), {
      headers: { traceparent: parent('a') },
      during: () => telemetry.write(line('during')),
    })
    telemetry.write(line('after'))
    const traceOf = (tool: string): unknown =>
      collector
        .records()
        .find(({ attributes }) => attributes['request_id'] === id && attributes['tool'] === tool)?.traceId ??
      'none'
    await expect
      .poll(() => collector.records().some(({ attributes }) => attributes['tool'] === 'after'), {
        timeout: 20_000,
      })
      .toBe(true)
    expect([traceOf('during'), traceOf('after')]).toEqual([trace, 'none'])
  })

  it('a stream is over when its calls are', async () => {
    const stream = new Response('data: {}\n\n', { headers: { 'content-type': 'text/event-stream' } })
    let over = (): void => {}
    await serve(call('t'), {
      headers: { traceparent: parent('a') },
      reply: stream,
      during: ({ callsOver }) => void (over = callsOver ?? over),
    })
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(collector.spans().filter(({ traceId }) => traceId === trace)).toEqual([])
    over()
    expect((await spanOf(server)).name).toBe('tools/call t')
  })

  it('a request has the requests to provider and app and the operations of the store below its span', async () => {
    const runtime = {
      ...createFakeRuntime(),
      fetch: async () => new Response('said', { status: 503 }),
    }
    const observed = observeFetch(runtime, { 'https://id.example.com': 'provider' }, telemetry)
    await serve(call('t'), {
      headers: { traceparent: parent('a') },
      during: async () => {
        await observed.fetch(new Request('https://id.example.com/token?said=1', { method: 'POST' }))
        telemetry.storeCall('findGrant', 'failed', 0.002)
      },
    })
    const { spanId } = await spanOf(server)
    const below = collector.spans().filter(({ parentSpanId }) => parentSpanId === spanId)
    expect(below.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['POST provider', '503'],
      ['store findGrant', 'failed'],
    ])
    expect(JSON.stringify(below)).not.toContain('said')
  })

  it('the context of a trace that is not sampled is passed on, and nothing of it is sent', async () => {
    const sent = { headers: {}, body: '{"id":1}', mayBeSilent: false }
    let passed = sent
    await serve(call('t'), {
      headers: { traceparent: parent('a', '00') },
      during: () => void (passed = telemetry.upstream(sent).request),
    })
    const traceparent = expect.stringMatching(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`)) as string
    expect(passed.headers).toEqual({ traceparent })
    expect(JSON.parse(passed.body)).toEqual({ id: 1, params: { _meta: { traceparent } } })
    await serve(call('t'), { headers: { traceparent: parent('a').replace(trace, 'f'.repeat(32)) } })
    await collector.span(({ traceId }) => traceId === 'f'.repeat(32))
    expect(collector.spans().filter(({ traceId }) => traceId === trace)).toEqual([])
  })

  it('outside of a request there is no span', async () => {
    const before = collector.spans().length
    telemetry.storeCall('findGrant', 'ok', 0)
    const sent = { headers: {}, body: 'x', mayBeSilent: false }
    expect(telemetry.upstream(sent).request).toBe(sent)
    await serve(call('t'), { headers: { traceparent: parent('a') } })
    await spanOf(server)
    expect(
      collector
        .spans()
        .slice(before)
        .filter(({ kind }) => kind === client),
    ).toEqual([])
  })
})

it.each([
  [undefined, 0],
  ['', 0],
  ['http://127.0.0.1:4318', 0],
  ['localhost:4318', 1],
  ['collector', 1],
])('OTEL_EXPORTER_OTLP_ENDPOINT=%s has %i problems', (endpoint, count) => {
  expect(telemetryProblems({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })).toHaveLength(count)
})

it('telemetry reports a failing collector once, and again after a batch that was delivered', async () => {
  const statuses = [400, 400, 200, 400]
  let taken = 0
  const server = createServer((request, response) => {
    const isLogs = request.url === '/v1/logs'
    request.resume().on('end', () => {
      response.writeHead((isLogs ? statuses[taken] : undefined) ?? 200, {
        'content-type': 'application/json',
      })
      response.end('{}', () => (taken += Number(isLogs)))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`)
  const reports: unknown[] = []
  const program = { version: '1', store: 'sqlite' }
  const failing = await openTelemetry(process.env, program, (event, { signal }) =>
    reports.push([event, signal]),
  )
  const reported = [1, 1, 1, 2]
  for (const [index, count] of reported.entries()) {
    failing?.write(JSON.stringify({ time: '2026-11-28T12:00:00Z', level: 30, event: 'signed_in' }))
    await expect.poll(() => [taken, reports.length]).toEqual([index + 1, count])
  }
  expect(reports).toEqual([
    ['telemetry_failed', 'logs'],
    ['telemetry_failed', 'logs'],
  ])
  await failing?.close()
  server.close()
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.environment['OTEL_EXPORTER_OTLP_ENDPOINT'])
})
