import { array, assert, asyncProperty, constantFrom, nat, record } from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../tests/support/bridge/proxy/condition.ts'
import {
  claims,
  initialize,
  startProxy,
  type Rig,
  type RigOptions,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import {
  legacyServer,
  modernServer,
  reply,
  startServer,
  type Json,
  type Received,
  type TestServer,
} from '../../tests/support/bridge/proxy/scripted-server.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean()
})

async function server(handle: Parameters<typeof startServer>[0]): Promise<TestServer> {
  const started = await startServer(handle)
  cleanups.push(started.close)
  return started
}

function proxy(to: TestServer, options?: RigOptions): Rig {
  const rig = startProxy(to.url, options)
  cleanups.push(rig.stop)
  return rig
}

/** A server of either era whose tool calls a test answers. */
function heldCalls(make: typeof legacyServer): { handle: (request: Received) => void; calls: Received[] } {
  const calls: Received[] = []
  const handle = make({
    handle(request) {
      if (request.body['method'] !== 'tools/call') return false
      calls.push(request)
      return true
    },
  })
  return { handle, calls }
}

function answerCall({ body, response }: Received): void {
  reply(response, {
    jsonrpc: '2.0',
    id: body['id'],
    result: { resultType: 'complete', content: [], is: body['id'] },
  })
}

const eras = [
  ['legacy', legacyServer, {}],
  ['modern', modernServer, claims()],
] as const

/** Opens as a client of that era does. */
async function open(rig: Rig, era: string): Promise<void> {
  if (era === 'legacy') await initialize(rig)
  else await rig.ask('server/discover', claims())
}

describe('bad input', () => {
  it.each([
    ['no JSON', '{"jsonrpc":', -32_700, null],
    ['text', 'hello', -32_700, null],
    ['no method', '{"jsonrpc":"2.0","id":7}', -32_600, 7],
    ['a list of nothing', '[]', -32_600, null],
    ['params that are no object', '{"jsonrpc":"2.0","id":"a","method":"x","params":[1]}', -32_600, 'a'],
    ['null as id', '{"jsonrpc":"2.0","id":null,"method":"x"}', -32_600, null],
  ])('%s is answered with an error, and the next message is served', async (_, line, code, id) => {
    const rig = proxy(await server(legacyServer()))
    rig.write(line)
    const answered = await rig.find(({ error }) => error !== undefined)
    expect(answered).toMatchObject({ id, error: { code } })
    expect((await initialize(rig))['result']).toBeDefined()
  })

  it('refuses an id that is waiting, and answers the first', async () => {
    const { handle, calls } = heldCalls(legacyServer)
    const rig = proxy(await server(handle))
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

  it('takes batches of 2025-03-26 only', async () => {
    const rig = proxy(await server(legacyServer()))
    const batch = JSON.stringify([
      { jsonrpc: '2.0', id: 'b1', method: 'tools/list' },
      { jsonrpc: '2.0', id: 'b2', method: 'ping' },
    ])
    await initialize(rig)
    rig.write(batch)
    expect((await rig.find(({ error }) => error !== undefined))['error'].code).toBe(-32_600)
    await rig.ask('initialize', { protocolVersion: '2025-03-26', capabilities: {} }, 'again')
    rig.write(batch)
    expect((await rig.find(({ id }) => id === 'b1'))['result'].tools).toHaveLength(1)
    expect((await rig.find(({ id }) => id === 'b2'))['result']).toEqual({})
  })
})

describe('a lost answer', () => {
  it('of an error without id gets the id of its request', async () => {
    const to = await server(
      legacyServer({
        handle({ body, response }) {
          if (body['method'] !== 'tools/call') return false
          reply(
            response,
            { jsonrpc: '2.0', id: null, error: { code: -32_001, message: 'no', data: { a: 1 } } },
            400,
          )
          return true
        },
      }),
    )
    const rig = proxy(to)
    await initialize(rig)
    expect((await rig.ask('tools/call', { name: 'x' }))['error']).toEqual({
      code: -32_001,
      message: 'no',
      data: { a: 1 },
    })
  })
})

describe('tools', () => {
  const tools = ['read_a', 'read_b', 'write_a'].map((name) => ({ name, inputSchema: { type: 'object' } }))

  it.each(eras)('are hidden and refused as the filter says, %s era', async (era, make, params) => {
    const to = await server(make({ tools }))
    const rig = proxy(to, { tools: { allow: ['read_*'], deny: ['*_b'] } })
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

  it('that declare headers faultily are hidden, and the others get theirs', async () => {
    const declared = [
      { name: 'good', inputSchema: region('Region') },
      { name: 'bad', inputSchema: region('no good') },
    ]
    const to = await server(modernServer({ tools: declared }))
    const rig = proxy(to)
    await open(rig, 'modern')
    const listed = await rig.ask('tools/list', claims())
    expect(listed['result'].tools.map(({ name }: Json) => name)).toEqual(['good'])
    expect(rig.said.join()).toContain('"bad"')
    await rig.ask('tools/call', { ...claims(), name: 'good', arguments: { region: 'eu' } })
    expect(to.received.at(-1)?.headers['mcp-param-region']).toBe('eu')
  })

  /** Refuses calls without the header for `eu`, and takes two pages to say which tool has it. */
  function strictServer(): Promise<TestServer> {
    const good = { name: 'good', inputSchema: region('Region') }
    return server(
      modernServer({
        handle({ body, headers, response }) {
          const { id, method, params } = body
          if (method === 'tools/list') {
            const page = params.cursor === 'two' ? { tools: [good] } : { tools: [], nextCursor: 'two' }
            reply(response, { jsonrpc: '2.0', id, result: { resultType: 'complete', ...page } })
            return true
          }
          if (method !== 'tools/call' || headers['mcp-param-region'] === 'eu') return false
          reply(response, { jsonrpc: '2.0', id, error: { code: -32_020, message: 'header' } }, 400)
          return true
        },
      }),
    )
  }

  describe.each([
    ['legacy', {}, -32_603],
    ['modern', claims(), -32_020],
  ] as const)('of a %s client that lack a header', (era, params, code) => {
    const call = (region: string): Json => ({ ...params, name: 'good', arguments: { region } })

    it('are called once more, after one look at all pages of the list', async () => {
      const to = await strictServer()
      const rig = proxy(to)
      await open(rig, era)
      const called = await rig.ask('tools/call', call('eu'))
      expect(called['result'].content).toHaveLength(1)
      const calls = to.methods().filter((method) => method.startsWith('tools'))
      expect(calls).toEqual(['tools/call', 'tools/list', 'tools/list', 'tools/call'])
    })

    it('and still do not suit the server are refused, with no further look', async () => {
      const to = await strictServer()
      const rig = proxy(to)
      await open(rig, era)
      expect((await rig.ask('tools/call', call('us')))['error'].code).toBe(code)
      const calls = to.methods().filter((method) => method.startsWith('tools'))
      expect(calls).toEqual(['tools/call', 'tools/list', 'tools/list', 'tools/call'])
    })

    it('share that look when there are several', async () => {
      const to = await strictServer()
      const rig = proxy(to)
      await open(rig, era)
      const meta = { _meta: { ...call('eu')['_meta'], progressToken: 'p' } }
      const calls = [1, 2, 3].map(() => rig.ask('tools/call', { ...call('eu'), ...meta }))
      for (const called of await Promise.all(calls)) expect(called['result'].content).toHaveLength(1)
      const lists = to.received.filter(({ body }) => body['method'] === 'tools/list')
      expect(lists).toHaveLength(2)
      expect(lists.map(({ body }) => body['params']._meta.progressToken)).toEqual([undefined, undefined])
    })

    it('are refused with the first answer when the list cannot be had', async () => {
      const to = await server(
        modernServer({
          handle({ body: { id, method }, response }) {
            if (method === 'tools/list') response.writeHead(500).end()
            else if (method === 'tools/call')
              reply(response, { jsonrpc: '2.0', id, error: { code: -32_020, message: 'header' } }, 400)
            else return false
            return true
          },
        }),
      )
      const rig = proxy(to)
      await open(rig, era)
      expect((await rig.ask('tools/call', call('eu')))['error'].code).toBe(code)
    })
  })
})

describe.each(eras)('each request of a client of the %s era', (era, make, params) => {
  type Step = { do: 'answer' | 'break' | 'refuse' | 'cancel' | 'twice'; pick: number }
  const step = record<Step>({
    do: constantFrom('answer', 'break', 'refuse', 'cancel', 'twice'),
    pick: nat(),
  })

  it('is answered exactly once, or not at all when it was cancelled', { timeout: 60_000 }, async () => {
    const { handle, calls } = heldCalls(make)
    const to = await server(handle)
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        calls.length = 0
        const rig = startProxy(to.url)
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
  ['legacy', modernServer, {}],
  ['modern', legacyServer, claims()],
] as const)('each request of a %s client that is translated', (era, make, params) => {
  it('is answered exactly once', async () => {
    const { handle, calls } = heldCalls(make)
    const rig = proxy(await server(handle))
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
