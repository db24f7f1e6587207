import { gzipSync } from 'node:zlib'
import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  claims,
  type Era,
  initialize,
  onCall,
  open,
  own,
  startProxy,
  startServer,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../tests/support/remote/remote.ts'
import type { Json, Received } from '../../tests/support/remote/received.ts'
import { until } from '../../tests/support/until.ts'

/** A server of that era, and the calls of its tools, which a test answers. */
async function heldCalls(era: Era): Promise<{ to: Remote; calls: Received[] }> {
  const calls: Received[] = []
  return { to: await startServer({ era, handle: onCall((call) => calls.push(call)) }), calls }
}

const answerCall = ({ body, answer }: Received): void =>
  answer({ result: { resultType: 'complete', content: [], is: body['id'] } })

const eras = ['legacy', 'modern'] as const

describe('bad input', () => {
  it.each([
    ['no JSON', '{"jsonrpc":', -32_700, null],
    ['colours of a shell', '\u001B[32mWelcome to bash\u001B[0m', -32_700, null],
    ['what nests without end', '['.repeat(100_000), -32_700, null],
    ['no method', '{"jsonrpc":"2.0","id":7}', -32_600, 7],
    ['a list of nothing', '[]', -32_600, null],
    ['params that are no object', '{"jsonrpc":"2.0","id":"a","method":"x","params":[1]}', -32_600, 'a'],
    ['null as id', '{"jsonrpc":"2.0","id":null,"method":"x"}', -32_600, null],
  ])(
    '%s is answered with an error and not sent, and the next message is served',
    async (_, line, code, id) => {
      const to = await startServer()
      const rig = startProxy(to)
      rig.write(line)
      const answered = await rig.find(({ error }) => error !== undefined)
      const message = expect.stringMatching(/^[A-Z].*\.$/) as string
      expect(answered).toMatchObject({ jsonrpc: '2.0', id, error: { code, message } })
      expect((await initialize(rig))['result']).toBeDefined()
      expect(to.methods()[0]).toBe('initialize')
    },
  )

  it('a request with the id of an open one is refused, and the first is answered', async () => {
    const { to, calls } = await heldCalls('legacy')
    const rig = startProxy(to)
    await initialize(rig)
    const call = { jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'a' } }
    rig.write(call)
    rig.write(call)
    expect((await rig.find(({ id }) => id === 'x'))['error'].code).toBe(-32_600)
    await until(() => calls.length === 1)
    answerCall(calls[0] as Received)
    await rig.find(({ id, result }) => id === 'x' && result !== undefined)
    expect(calls).toHaveLength(1)
  })

  it('batches are accepted from clients of 2025-03-26 only', async () => {
    const rig = startProxy(await startServer())
    const batch = JSON.stringify([
      { jsonrpc: '2.0', id: 'b1', method: 'tools/list' },
      { jsonrpc: '2.0', id: 'b2', method: 'ping' },
    ])
    await initialize(rig)
    rig.write(batch)
    expect((await rig.find(({ error }) => error !== undefined))['error'].code).toBe(-32_600)
    await rig.ask('initialize', { protocolVersion: '2025-03-26', capabilities: {} }, 'again')
    const ping = '{"jsonrpc":"2.0","id":"p","method":"ping"}'
    const nested = `${'['.repeat(200_000)}${ping}${']'.repeat(200_000)}`
    for (const none of [nested, `[${Array(10_001).fill(ping).join()}]`, '[]']) rig.write(none)
    rig.write(batch)
    expect((await rig.find(({ id }) => id === 'b1'))['result'].tools).toHaveLength(1)
    expect((await rig.find(({ id }) => id === 'b2'))['result']).toEqual({})
    expect(rig.messages.filter(({ id }) => id === null).map(({ error }) => error.code as unknown)).toEqual(
      Array(4).fill(-32_600),
    )
  })
})

describe.each(eras)('a %s client of a server of its own era', (era) => {
  it('unknown methods and their text arrive byte for byte', async () => {
    const odd = [1, { '': null }]
    const to = await startServer({
      era,
      handle({ body: { method }, answer }) {
        if (method !== 'example/own') return false
        answer({ result: { resultType: 'complete', odd } })
        return true
      },
    })
    const rig = startProxy(to)
    await open(rig, era)
    const params = { zzz: 1.5, nested: { '': [] }, ...own(era), 'example.com/odd': { a: [1, null] } }
    const line = `{"method" : "example/own" ,"id":"an id",  "params":${JSON.stringify(params)},"jsonrpc":"2.0"}`
    rig.write(line)
    expect((await rig.find(({ id }) => id === 'an id'))['result'].odd).toEqual(odd)
    expect(to.received.map(({ text }) => text)).toContain(line)
    rig.write({ jsonrpc: '2.0', method: 'notifications/example', params: { x: 1 } })
    await until(() => to.methods().includes('notifications/example'))
  })
})

describe('a result of 6 MB', () => {
  const result = JSON.stringify({ content: [{ type: 'text', text: 'ä€ "a" \\ '.repeat(400_000) }] })
  const ways: Record<string, (call: Received, text: string) => void> = {
    'as JSON': (call, text) => call.json(200, text),
    'as JSON with a line end': (call, text) => call.json(200, `${text}\n`),
    'as JSON with a byte order mark': (call, text) => call.json(200, `\uFEFF${text}`),
    compressed: (call, text) => call.json(200, gzipSync(text), { 'Content-Encoding': 'gzip' }),
    'as an event': (call, text) => void call.events(`data: ${text}\n\n`).end(),
    'as an event of two lines': (call, text) =>
      void call.events(`data: {\r\ndata:${text.slice(1)}\r\n\r\n`).end(),
  }

  it.each(
    Object.keys(ways).flatMap((way) => ['5', '"ü"', '9007199254740993'].map((id) => [way, id] as const)),
  )('a result of 6 MB %s is one line, under the id as the client wrote it: %s', async (way, id) => {
    const line = (named: unknown): string => `{"jsonrpc":"2.0","id":${String(named)},"result":${result}}`
    const answer = onCall((call) => ways[way]?.(call, line(JSON.stringify(call.body['id']))))
    const rig = startProxy(await startServer({ handle: answer }))
    await initialize(rig)
    const chunks: Buffer[] = []
    rig.output.on('data', (chunk: Buffer) => void chunks.push(chunk))
    rig.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"a"}}`)
    await until(() => chunks.at(-1)?.at(-1) === '\n'.charCodeAt(0))
    const written = Buffer.concat(chunks).toString()
    expect(written.indexOf('\n')).toBe(written.length - 1)
    expect(written.trim().replace('{ ', '{') === line(id)).toBe(true)
  })
})

it.each(['legacy', 'modern', 'sse'] as const)(
  'a 2025 client of a %s server that waits for no answer at all gets all of them',
  async (server) => {
    const to = await startServer(server === 'sse' ? { transport: 'sse' } : { era: server })
    const rig = startProxy(server === 'sse' ? { url: to.sseUrl } : to)
    const opening = initialize(rig)
    rig.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const answers = [rig.ask('tools/list'), rig.ask('tools/call', { name: 'echo' })]
    for (const answer of [opening, ...answers]) expect(await answer).toHaveProperty('result')
    expect(to.counters.sessionsOpened).toBe(server === 'modern' ? 0 : 1)
  },
)

it('ten calls in a session that the server has forgotten are made once each, in one new session', async () => {
  const to = await startServer({ tools: undefined })
  const rig = startProxy(to)
  await initialize(rig)
  rig.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
  const call = (key: string): Promise<Json> =>
    rig.ask('tools/call', { name: 'echo', arguments: { text: key, key } })
  await call('first')
  to.dropSessions()
  const keys = Array.from({ length: 10 }, (_, index) => `k${index}`)
  const answers = await Promise.all(keys.map(call))
  expect(answers.map(({ result }) => result.content[0].text as unknown)).toEqual(keys)
  expect(to.counters.calls).toEqual(Object.fromEntries(['first', ...keys].map((key) => [key, 1])))
  expect(to.counters).toMatchObject({ sessionsOpened: 2, sessionsOpen: 1 })
})

it('a subscription at a modern server is back after a cut for a legacy client, which hears each change once', async () => {
  const to = await startServer({ era: 'modern' })
  const rig = startProxy(to)
  await initialize(rig)
  await until(() => to.counters.streamsOpen === 1)
  to.dropStreams()
  await until(() => to.counters.streamsOpened === 2 && to.counters.streamsOpen === 1)
  const isNotice = ({ method }: Json): boolean => method === 'notifications/tools/list_changed'
  const before = rig.messages.filter(isNotice).length
  to.changeTools()
  await until(() => rig.messages.filter(isNotice).length > before)
  await rig.ask('tools/list')
  expect(rig.messages.filter(isNotice)).toHaveLength(before + 1)
})

describe('a lost answer', () => {
  it('an error without an id gets the id of its request', async () => {
    const error = { code: -32_001, message: 'no', data: { a: 1 } }
    const to = await startServer({ handle: onCall(({ answer }) => answer({ id: null, error }, 400)) })
    const rig = startProxy(to)
    await initialize(rig)
    expect((await rig.ask('tools/call', { name: 'x' }))['error']).toEqual(error)
  })
})

describe('tools', () => {
  const tools = ['read_a', 'read_b', 'write_a'].map((name) => ({ name, inputSchema: { type: 'object' } }))

  it.each(eras)('tools are hidden and refused by the filter, %s revision', async (era) => {
    const params = own(era)
    const to = await startServer({ era, tools })
    const rig = startProxy(to, { tools: { allow: ['read_*'], deny: ['*_b'] } })
    await open(rig, era)
    const listed = await rig.ask('tools/list', params)
    expect(listed['result'].tools.map(({ name }: Json) => name)).toEqual(['read_a'])
    const refused = await rig.ask('tools/call', { ...params, name: 'read_b' })
    expect(refused['error']).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('--ignore-tool'),
    })
    const alsoRefused = await rig.ask('tools/call', { ...params, name: 'write_a' })
    expect(alsoRefused['error'].message).toContain('--allow-tool')
    expect((await rig.ask('tools/call', { ...params, name: 'read_a' }))['result']).toBeDefined()
    expect(to.methods().filter((method) => method === 'tools/call')).toHaveLength(1)
  })

  const region = (header: unknown): Json => ({
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': header } },
  })

  it('tools with faulty header declarations are hidden, and the others get their headers', async () => {
    const declared = [
      { name: 'good', inputSchema: region('Region') },
      { name: 'bad', inputSchema: region('no good') },
    ]
    const to = await startServer({ era: 'modern', tools: declared })
    const rig = startProxy(to)
    await open(rig, 'modern')
    const listed = await rig.ask('tools/list', claims())
    expect(listed['result'].tools.map(({ name }: Json) => name)).toEqual(['good'])
    expect(rig.said.join()).toContain('"bad"')
    await rig.ask('tools/call', { ...claims(), name: 'good', arguments: { region: 'eu' } })
    expect(to.received.at(-1)?.headers['mcp-param-region']).toBe('eu')
  })

  const lacking = { error: { code: -32_020, message: 'header' } }

  /** Refuses calls without the header for `eu`, and takes two pages to say which tool has it. */
  const strictServer = (): Promise<Remote> =>
    startServer({
      era: 'modern',
      handle({ body: { method, params }, headers, answer }) {
        if (method === 'tools/list') {
          const tools = [{ name: 'good', inputSchema: region('Region') }]
          const page = params.cursor === 'two' ? { tools } : { tools: [], nextCursor: 'two' }
          answer({ result: { resultType: 'complete', ...page } })
        } else if (method === 'tools/call' && headers['mcp-param-region'] !== 'eu') answer(lacking, 400)
        else return false
        return true
      },
    })

  describe.each([
    ['legacy', {}, -32_603],
    ['modern', claims(), -32_020],
  ] as const)('calls of a %s client that lack a header', (era, params, code) => {
    const call = (region: string): Json => ({ ...params, name: 'good', arguments: { region } })

    it.each([
      ['a call that lacks a header is sent once more, after one look at all pages of the list', 'eu'],
      [
        'a call that lacks a header and still does not suit the server is refused, with no further look',
        'us',
      ],
    ])('%s', async (_, where) => {
      const to = await strictServer()
      const rig = startProxy(to)
      await open(rig, era)
      const called = await rig.ask('tools/call', call(where))
      expect(called).toMatchObject(where === 'eu' ? { result: { content: [{}] } } : { error: { code } })
      const calls = to.methods().filter((method) => method.startsWith('tools'))
      expect(calls).toEqual(['tools/call', 'tools/list', 'tools/list', 'tools/call'])
    })

    it('several calls that lack a header share one look at the list', async () => {
      const to = await strictServer()
      const rig = startProxy(to)
      await open(rig, era)
      const meta = { _meta: { ...call('eu')['_meta'], progressToken: 'p' } }
      const calls = [1, 2, 3].map(() => rig.ask('tools/call', { ...call('eu'), ...meta }))
      for (const called of await Promise.all(calls)) expect(called['result'].content).toHaveLength(1)
      const lists = to.received.filter(({ body }) => body['method'] === 'tools/list')
      expect(lists).toHaveLength(2)
      expect(lists.map(({ body }) => body['params']._meta.progressToken)).toEqual([undefined, undefined])
    })

    it('a call that lacks a header keeps its error if the list fails', async () => {
      const to = await startServer({
        era: 'modern',
        handle({ body: { method }, answer, response }) {
          if (method === 'tools/list') response.writeHead(500).end()
          else if (method === 'tools/call') answer(lacking, 400)
          else return false
          return true
        },
      })
      const rig = startProxy(to)
      await open(rig, era)
      expect((await rig.ask('tools/call', call('eu')))['error'].code).toBe(code)
    })
  })
})

describe.each(eras)('each request of a client of the %s era', (era) => {
  type Step = { do: 'answer' | 'break' | 'refuse' | 'cancel' | 'twice'; pick: number }
  const step = record<Step>({
    do: constantFrom('answer', 'break', 'refuse', 'cancel', 'twice'),
    pick: nat(),
  })

  it('each request is answered exactly once, or not at all if cancelled', { timeout: 60_000 }, async () => {
    const { to, calls } = await heldCalls(era)
    const params = own(era)
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        calls.length = 0
        const rig = startProxy(to)
        await open(rig, era)
        const cancelled = new Set<number>()
        for (const [id] of steps.entries())
          rig.write({ jsonrpc: '2.0', id: 1000 + id, method: 'tools/call', params: { ...params, name: 'x' } })
        await until(() => calls.length === steps.length)
        for (const { do: what, pick } of steps) {
          const [call] = calls.splice(pick % calls.length, 1) as [Received]
          const id = call.body['id'] as number
          if (what === 'cancel') {
            cancelled.add(id)
            rig.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
            if (pick % 2 === 0) await new Promise((resolve) => void setImmediate(resolve))
            answerCall(call)
          } else if (what === 'break') call.response.destroy()
          else if (what === 'refuse') call.response.writeHead(500).end()
          else if (what === 'answer') answerCall(call)
          else {
            const text = JSON.stringify({ jsonrpc: '2.0', id, result: {} })
            call.response.writeHead(200, { 'Content-Type': 'text/event-stream' })
            call.response.end(`data: ${text}\n\ndata: ${text}\n\n`)
          }
        }
        const due = steps.length - cancelled.size
        const answers = (): Json[] => rig.messages.filter(({ id }) => Number(id) >= 1000)
        await until(() => answers().filter(({ id }) => !cancelled.has(id as number)).length >= due)
        await rig.ask('tools/list', params, 'last')
        await rig.stop()
        const ids = answers().map(({ id }) => id as number)
        expect(new Set(ids).size).toBe(ids.length)
        expect(ids.filter((id) => cancelled.has(id))).toEqual([])
        expect(ids).toHaveLength(due)
      }),
      { numRuns: 25 },
    )
  })
})

describe.each([
  ['legacy', 'modern'],
  ['modern', 'legacy'],
] as const)('each request of a %s client that is translated', (era, server) => {
  it('each request is answered exactly once', async () => {
    const { to, calls } = await heldCalls(server)
    const params = own(era)
    const rig = startProxy(to)
    await open(rig, era)
    for (let id = 100; id < 120; id++)
      rig.write({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...params, name: 'x' } })
    await until(() => calls.length === 20)
    rig.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 105 } })
    await rig.ask('tools/list', params)
    calls.forEach((call, index) => (index % 3 === 0 ? call.response.destroy() : answerCall(call)))
    const answers = (): Json[] => rig.messages.filter(({ id }) => Number(id) >= 100)
    await until(() => answers().length >= 19)
    await rig.ask('tools/list', params)
    expect(
      answers()
        .map(({ id }) => Number(id))
        .sort((one, other) => one - other),
    ).toEqual(Array.from({ length: 20 }, (_, index) => 100 + index).filter((id) => id !== 105))
  })
})
