import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { anonymousCaller, type Caller } from '../../core/tokens/caller.ts'
import { fullAccess } from '../../core/access/access-rules.ts'
import {
  initialize,
  message2026,
  type MessageReader,
  notification,
  readMessages,
  request,
  toolCall,
} from '../../../tests/support/server/mcp/mcp-message.ts'
import {
  callerOf,
  type CommandClient,
  type CommandFixture,
  createCommands,
  openCommand,
  responseOf,
  upstreamSample,
} from '../../../tests/support/server/mcp/command-fixture.ts'

const { open, end } = createCommands()
afterEach(async () => expect(await end()).toEqual([]))

const names = (message: { result?: Record<string, unknown> }): unknown[] =>
  ((message.result ?? {})['tools'] as { name: unknown }[]).map(({ name }) => name)

const hang = toolCall('hang', {}, 7)
const cancelHang = notification('notifications/cancelled', { requestId: 7 })

// One that speaks both is taken for a modern one, as most tests of processes show.
describe.each(['legacy', 'modern'])('a process that speaks %s', (era) => {
  // For what leaves nothing behind.
  let shared: CommandFixture
  let client: CommandClient
  beforeAll(() => {
    shared = openCommand(upstreamSample(['--era', era]))
    client = shared.client()
  })
  afterAll(async () => {
    await shared.close()
    expect(shared.processes()).toEqual([])
  })

  it('a command answers a client of an earlier revision without a session, unknown members included', async () => {
    expect(await client.call('echo', { value: 'a' }, 'id')).toEqual({
      jsonrpc: '2.0',
      id: 'id',
      result: {
        content: [{ type: 'text', text: 'a' }],
        structuredContent: { value: 'a', pid: expect.any(Number), id: expect.any(Number) },
        unheard: { of: [1] },
        _meta: { 'example/own': 1 },
      },
    })
    expect(await client.request('example/own', { value: 1 })).toMatchObject({ result: { got: 1 } })
    expect(await client.request('resources/read', { uri: 'test://one' })).toMatchObject({
      result: { contents: [{ uri: 'test://one', 'x-unheard': 1 }] },
    })
    expect(await client.request('completion/complete', {})).toMatchObject({
      result: { completion: { values: ['a', 'b'] } },
    })
  })

  it.runIf(era === 'legacy')('a command names the versions that work to a client of 2026-07-28', async () => {
    const supported = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
    for (const method of [
      'server/discover',
      'tools/list',
      'tools/call',
      'subscriptions/listen',
      'tasks/list',
    ]) {
      const { message, headers } = message2026(method, { name: 'echo' })
      const refused = await client.post(message, headers)
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { id: 1, error: { code: -32_022, data: { supported, requested: '2026-07-28' } } },
      ])
    }
  })

  it.runIf(era === 'modern')(
    'a command answers a client of 2026-07-28 with the members that the revision requires',
    async () => {
      const result = await client.request2026('tools/call', { name: 'echo', arguments: { value: 'a' } })
      expect(result).toMatchObject({
        result: {
          resultType: 'complete',
          content: [{ type: 'text', text: 'a' }],
          unheard: { of: [1] },
          _meta: {
            'example/own': 1,
            'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '7' },
          },
        },
      })
      // What a process calls public is what it says to one person.
      for (const method of ['tools/list', 'resources/list', 'prompts/list'])
        expect(await client.request2026(method)).toMatchObject({ result: { cacheScope: 'private' } })
      expect(await client.request2026('server/discover')).toMatchObject({
        result: {
          supportedVersions: ['2026-07-28'],
          instructions: 'Do as told.',
          capabilities: {
            experimental: { scripted: { answer: 42 } },
            prompts: {},
            tools: { listChanged: true },
          },
        },
      })
    },
  )

  it('a command opens a session under its own name and instructions, and ends it', async () => {
    const session = await client.open()
    expect(session.initialized).toMatchObject({
      result: {
        protocolVersion: '2025-11-25',
        serverInfo: { name: 'scripted', version: '7', title: 'Scripted' },
        instructions: 'Do as told.',
      },
    })
    const echoed = { id: 5, result: { content: [{ text: '1' }] } }
    expect(await session.call('echo', { value: 1 }, 5)).toMatchObject(echoed)
    expect((await session.end()).status).toBe(200)
    const gone = await session.post(toolCall('echo', {}, 5))
    expect(gone.status).toBe(404)
    expect(await gone.json()).toMatchObject({ id: 5, error: { code: -32_001 } })
  })

  it('a command passes errors on with code and data', async () => {
    const error = { code: -32_000, message: 'Refused.', data: { why: 'because' } }
    expect(await client.call('refuse')).toMatchObject({ error })
    if (era === 'modern')
      expect(await client.request2026('tools/call', { name: 'refuse' })).toMatchObject({ error })
    expect(await client.call('fail')).toMatchObject({ result: { isError: true } })
  })

  it("a command reports a missing resource with the error code of the client's revision", async () => {
    const error = { data: { uri: 'test://none' } }
    const earlier = await client.request('resources/read', error.data)
    expect(earlier).toMatchObject({ error: { ...error, code: -32_002 } })
    if (era === 'legacy') return
    const of2026 = await client.request2026('resources/read', error.data)
    expect(of2026).toMatchObject({ error: { ...error, code: -32_602 } })
  })

  it("a command reports progress with the token of the client's call", async () => {
    const params = { name: 'echo', arguments: { value: 'x' }, _meta: { progressToken: 'mine' } }
    const progress = (step: number): object => ({
      method: 'notifications/progress',
      params: { progressToken: 'mine', progress: step, total: 2, message: 'x' },
    })
    const { message, headers } = message2026('tools/call', params)
    const earlier = [request('tools/call', params), {}] as const
    for (const [sent, more] of era === 'legacy' ? [earlier] : [earlier, [message, headers] as const]) {
      const messages = await readMessages(await client.post(sent, more)).rest()
      expect(messages.map((each) => each.message)).toMatchObject([
        progress(1),
        progress(2),
        { id: 1, result: {} },
      ])
    }
  })

  it('a command learns that a call is cancelled, and that a client has left', async () => {
    const fixture = open(['--era', era])
    const client = fixture.client()
    const countsOf = async (of: Pick<CommandClient, 'call'>): Promise<unknown> =>
      JSON.parse(
        (((await of.call('cancelled')).result ?? {})['content'] as { text: string }[])[0]?.text ?? '',
      )
    const session = await client.open()
    const response = await session.post(hang)
    await expect.poll(() => countsOf(session)).toEqual({ cancelled: 0, open: 2 })
    await session.post(cancelHang)
    await expect.poll(() => countsOf(session)).toEqual({ cancelled: 1, open: 1 })
    await response.body?.cancel()

    const leaving = new AbortController()
    const left = client.post(hang, {}, leaving.signal)
    await expect.poll(() => countsOf(client)).toEqual({ cancelled: 0, open: 2 })
    leaving.abort()
    expect((await left).status).toBe(499)
    await expect.poll(() => countsOf(client)).toEqual({ cancelled: 1, open: 1 })
    const cancelledCalls = (): number =>
      fixture.reported('tool_called').filter(({ outcome }) => outcome === 'cancelled').length
    await expect.poll(cancelledCalls).toBe(2)
    if (era === 'legacy') return

    const { message, headers } = message2026('tools/call', { name: 'hang', _meta: { progressToken: 1 } })
    const going = new AbortController()
    const gone = client.post(message, headers, going.signal)
    await expect.poll(() => countsOf(client)).toEqual({ cancelled: 1, open: 2 })
    going.abort()
    await gone.then(
      (answer) => answer.body?.cancel(),
      () => {},
    )
    await expect.poll(() => countsOf(client)).toEqual({ cancelled: 2, open: 1 })
    await expect.poll(cancelledCalls).toBe(3)
  })

  it('a command tells a session about changes, until it unsubscribes', async () => {
    const session = await open(['--era', era]).client().open()
    const stream = await session.listen()
    const resource = { uri: 'test://one' }
    expect(await session.request('resources/subscribe', resource)).toMatchObject({ result: {} })
    await session.call('touch', { uri: 'test://other' })
    await session.call('touch', resource)
    expect(await session.request('resources/unsubscribe', resource)).toMatchObject({ result: {} })
    await session.call('touch', resource)
    await session.call('add_tool')
    const updated = { method: 'notifications/resources/updated', params: resource }
    expect((await stream.next())?.message).toMatchObject(updated)
    expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
    expect(await session.call('extra')).toMatchObject({ result: { content: [{ text: 'extra' }] } })
    await stream.cancel()
  })

  it('a command sends a session every other notification of its process, except of tasks', async () => {
    const client = open(['--era', era]).client()
    const [session, other] = [await client.open(), await client.open()]
    const streams = [await session.listen(), await other.listen()] as const
    for (const method of ['tasks/status', 'example', 'elicitation/complete'])
      await session.call('say', { method: `notifications/${method}`, params: { of: method } })
    await client.call('say', { method: 'notifications/example', params: { of: 'no session' } })
    expect((await streams[0].next())?.message.params).toEqual({ of: 'example' })
    expect((await streams[0].next())?.message.params).toEqual({ of: 'elicitation/complete' })
    await other.call('say', { method: 'notifications/example', params: { of: 'the other' } })
    expect((await streams[1].next())?.message.params).toEqual({ of: 'the other' })
    for (const stream of streams) await stream.cancel()
  })

  it('a command gets the notifications of its session, except those between the client and the server', async () => {
    const session = await open(['--era', era])
      .client()
      .open({ roots: { listChanged: true } })
    const roots = 'notifications/roots/list_changed'
    await session.post(notification(roots))
    const told = async (): Promise<string> => JSON.stringify(await session.call('told'))
    if (era === 'legacy')
      await expect.poll(told).toContain(`[\\"notifications/initialized\\",\\"${roots}\\"]`)
    // 2026-07-28 has none.
    else expect(await told()).toContain('[]')
  })

  it('a command reports changes of resources that the process before it was subscribed to', async () => {
    const session = await open(['--era', era]).client().open()
    const stream = await session.listen()
    for (const uri of ['test://one', 'test://two']) await session.request('resources/subscribe', { uri })
    await session.request('resources/unsubscribe', { uri: 'test://two' })
    await session.call('die')
    for (const uri of ['test://two', 'test://one']) await session.call('touch', { uri })
    expect((await stream.next())?.message.params).toMatchObject({ uri: 'test://one' })
    await stream.cancel()
  })

  it.runIf(era === 'modern')(
    'a command sends each subscription of 2026-07-28 the notifications that it requested',
    async () => {
      const fixture = open(['--era', era])
      const client = fixture.client()
      const listen = async (notifications: object): Promise<MessageReader> => {
        const { message, headers } = message2026('subscriptions/listen', { notifications })
        const reader = readMessages(await client.post(message, headers))
        expect((await reader.next())?.message.method).toBe('notifications/subscriptions/acknowledged')
        return reader
      }
      const all = await listen({ toolsListChanged: true, resourceSubscriptions: ['test://two'] })
      const one = await listen({ resourceSubscriptions: ['test://one'] })
      for (const uri of ['test://other', 'test://one', 'test://two']) await client.call('touch', { uri })
      await client.call('add_tool')
      expect((await one.next())?.message.params).toMatchObject({ uri: 'test://one' })
      expect((await all.next())?.message.params).toMatchObject({ uri: 'test://two' })
      expect((await all.next())?.message.method).toBe('notifications/tools/list_changed')
      await client.call('die')
      await client.call('touch', { uri: 'test://one' })
      expect((await one.next())?.message.params).toMatchObject({ uri: 'test://one' })
      fixture.endpoint.endStreams()
      expect((await one.rest()).map(({ message }) => message.result?.['resultType'])).toEqual(['complete'])
      expect(await all.rest()).toHaveLength(1)
    },
  )

  it.runIf(era === 'modern')(
    'a command refuses arguments that differ from the headers that repeat them, once it has listed its tools',
    async () => {
      const fixture = open(['--era', era], {
        policy: { allow: ['*'], deny: [], publicTools: new Set(), scopes: [] },
      })
      const client = fixture.client()
      let cursor: unknown
      do cursor = (await client.request('tools/list', { cursor })).result?.['nextCursor']
      while (cursor !== undefined)
      const params = { name: 'regional', arguments: { region: 'eu' } }
      const { message, headers } = message2026('tools/call', params)
      expect((await client.post(message, headers)).status).toBe(400)
      expect((await client.post(message, { ...headers, 'mcp-param-region': 'us' })).status).toBe(400)
      const agreed = await client.post(message, { ...headers, 'mcp-param-region': 'eu' })
      expect(await agreed.json()).toMatchObject({ result: { content: [{ text: 'eu' }] } })
      const hidden = fixture.client(callerOf('ada', { access: { ...fullAccess, allowsTool: () => false } }))
      expect(JSON.stringify(await (await hidden.post(message, headers)).json())).toContain('There is no tool')
    },
  )

  it('a command sends log messages to the only open call, from its level on', async () => {
    const client = open(['--era', era]).client()
    const session = await client.open()
    const log = (level: string): object => toolCall('log', { level, data: 1 }, level)
    const methodsOf = async (response: Response): Promise<unknown[]> =>
      (await readMessages(response).rest()).map(({ message }) => message.method)
    const logged = ['notifications/message', undefined]
    // In 2026-07-28 a process sends none without a level.
    expect(await methodsOf(await session.post(log('debug')))).toEqual(era === 'legacy' ? logged : [undefined])
    const set = await session.request('logging/setLevel', { level: 'error' })
    expect(set).toMatchObject({ result: {} })
    await session.request('logging/setLevel', { level: 'loud' })
    expect(await methodsOf(await session.post(log('info')))).toEqual([undefined])
    expect(await methodsOf(await session.post(log('alert')))).toEqual(logged)

    if (era === 'legacy') return
    const asked = message2026('tools/call', {
      name: 'log',
      arguments: { level: 'info', data: 1 },
      _meta: { 'io.modelcontextprotocol/logLevel': 'info' },
    })
    expect(await methodsOf(await client.post(asked.message, asked.headers))).toEqual(logged)
    expect(await client.request2026('tools/call', { name: 'log', arguments: { data: 1 } })).toMatchObject({
      result: {},
    })
  })

  it('a command gets no request for tasks or events, which would outlive its call', async () => {
    const session = await client.open()
    for (const method of ['tasks/list', 'events/list']) {
      const answers = [session.request(method), client.request(method)]
      if (era === 'modern') answers.push(client.request2026(method))
      for (const each of await Promise.all(answers)) expect(each).toMatchObject({ error: { code: -32_601 } })
    }
  })

  it('a command gets no setting from a message without a session, which others of the person would share', async () => {
    const settings = {
      'logging/setLevel': { level: 'debug' },
      'resources/subscribe': { uri: 'test://one' },
      'resources/unsubscribe': { uri: 'test://one' },
    }
    for (const [method, params] of Object.entries(settings)) {
      const answers = [client.request(method, params)]
      if (era === 'modern') answers.push(client.request2026(method, params))
      for (const each of await Promise.all(answers)) expect(each).toMatchObject({ error: { code: -32_601 } })
    }
  })

  it('a shared command keeps people apart, and gets no request with a lasting effect', async () => {
    const fixture = open(['--era', era], { process: 'shared' })
    const [ada, eve] = [fixture.client(), fixture.client(callerOf('eve'))]
    const session = await ada.open({ elicitation: {} })
    const capabilities = session.initialized.result?.['capabilities']
    expect(capabilities).not.toHaveProperty('logging')
    expect(capabilities).toMatchObject({ resources: { subscribe: false } })
    const lasting = {
      'logging/setLevel': { level: 'debug' },
      'resources/subscribe': { uri: 'test://one' },
      'example/own': {},
    }
    for (const [method, params] of Object.entries(lasting))
      expect(await session.request(method, params)).toMatchObject({ error: { code: -32_601 } })
    await session.post(notification('notifications/roots/list_changed'))
    expect(JSON.stringify(await session.call('told'))).not.toContain('roots')
    const stream = await session.listen()
    await eve.call('log', { level: 'error', data: 'of eve' })
    const ofEve = { uri: 'test://of/eve', taskId: 'of eve' }
    for (const method of ['resources/updated', 'elicitation/complete', 'tasks/status', 'example'])
      await eve.call('say', { method: `notifications/${method}`, params: ofEve })
    await eve.call('add_tool')
    expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
    await stream.cancel()
    for (const name of ['about', 'meta']) {
      const { result } = await session.call(name)
      expect(result?.['structuredContent']).toBeDefined()
      expect(JSON.stringify(result)).not.toContain('elicitation')
    }
  })
})

it('a shared process offers a client of 2026-07-28 nothing that would outlive a request', async () => {
  const fixture = open(['--era', 'modern'], { process: 'shared' })
  const { result } = await fixture.client().request2026('server/discover')
  expect(result).toMatchObject({ capabilities: { tools: {}, resources: { subscribe: false } } })
  expect(result?.['capabilities']).not.toHaveProperty('logging')
})

it('a client that names the newest revision in a header of an older message keeps its session', async () => {
  const client = open(['--era', 'legacy']).client()
  const { headers } = await client.open({ roots: {} })
  const response = await client.post(toolCall('echo'), { ...headers, 'mcp-protocol-version': '2026-07-28' })
  expect(await responseOf(response)).toMatchObject({ result: {} })
})

it('endStreams ends streams that wait for notifications, open and future ones, and no call', async () => {
  const fixture = open()
  const client = fixture.client()
  const stream = await (await client.open()).listen()
  const call = client.call('echo', { value: 'slow', ms: 500 })
  fixture.endpoint.endStreams()
  expect(await stream.next()).toBeUndefined()
  expect(await call).toMatchObject({ result: {} })
  const later = await fixture.client(callerOf('bob')).open()
  expect(await (await later.listen()).next()).toBeUndefined()
})

it.each<[what: string, isLive: () => Promise<boolean>, seconds: number, status: number]>([
  ['ends with its process once its grant has ended', async () => false, 599, 404],
  ['stays open while its grant lives', async () => true, 599, 200],
  ['stays open while the store is down', () => Promise.reject(new Error('down')), 599, 200],
  ['stays open when its token has expired, which cannot tell', async () => false, 600, 200],
])('a session without an open call %s', async (_what, isLive, seconds, status) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const fixture = open()
  const caller = callerOf('ada', { isLive, expiresAt: fixture.runtime.now() + 600 })
  const session = await fixture.client(caller).open()
  expect(fixture.processes()).toHaveLength(1)
  fixture.runtime.advance(seconds)
  await vi.advanceTimersByTimeAsync(15_000)
  vi.useRealTimers()
  await expect.poll(fixture.processes).toHaveLength(status === 200 ? 1 : 0)
  expect((await session.post(request('ping'))).status).toBe(status)
})

it('a session is checked by the caller of its latest message', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const fixture = open()
  const expiresAt = fixture.runtime.now() + 600
  const session = await fixture.client(callerOf('ada', { isLive: async () => false, expiresAt })).open()
  const renewed = fixture.client(callerOf('ada', { isLive: async () => true, expiresAt }))
  expect((await renewed.post(request('ping'), session.headers)).status).toBe(200)
  await vi.advanceTimersByTimeAsync(15_000)
  vi.useRealTimers()
  expect((await renewed.post(request('ping'), session.headers)).status).toBe(200)
})

it('a notification without a session starts no process', async () => {
  const fixture = open()
  expect((await fixture.client().post(notification('notifications/initialized'))).status).toBe(202)
  expect(fixture.endpoint.processCount()).toBe(0)
})

it('log messages go to no call of 2026-07-28 that has not asked for them', async () => {
  const client = open().client()
  const logged = JSON.stringify(notification('notifications/message', { level: 'alert', data: 1 }))
  const params = { name: 'write', arguments: { to: 'stdout', value: `${logged}\n` } }
  const levelKey = 'io.modelcontextprotocol/logLevel'
  for (const [_meta, methods] of [
    [{}, [undefined]],
    [{ [levelKey]: 'info' }, ['notifications/message', undefined]],
  ] as const) {
    const { message, headers } = message2026('tools/call', { ...params, _meta })
    const response = await client.post(message, headers)
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    const got = isStream
      ? (await readMessages(response).rest()).map((each) => each.message.method)
      : [undefined]
    expect(got).toEqual(methods)
  }
})

it('log messages of a session with several open calls go to its GET stream alone, from its level on', async () => {
  const fixture = open(['--era', 'legacy'])
  const client = fixture.client()
  const [session, other] = [await client.open(), await client.open()]
  const streams = [await session.listen(), await other.listen()] as const
  const hanging = await session.post(hang)
  await session.request('logging/setLevel', { level: 'error' })
  for (const level of ['info', 'alert']) await session.call('log', { level, data: level })
  expect((await streams[0].next())?.message.params?.['data']).toBe('alert')
  const leaving = new AbortController()
  const alone = client.post(hang, {}, leaving.signal)
  await expect.poll(async () => JSON.stringify(await client.call('cancelled'))).toContain('\\"open\\":2')
  await client.call('log', { level: 'alert', data: 'of a call without a session' })
  leaving.abort()
  await alone
  fixture.endpoint.endStreams()
  for (const stream of streams) expect(await stream.rest()).toEqual([])
  await hanging.body?.cancel()
})

it('a shared process with a public tool serves callers who have not signed in, without sessions', async () => {
  const policy = { allow: ['*'], deny: [], publicTools: new Set(['echo']), scopes: [] }
  const fixture = open([], { process: 'shared', policy })
  const anonymous = fixture.client(anonymousCaller(fullAccess))
  await expect(anonymous.open({ elicitation: {} })).rejects.toThrow(/No session: .*"result"/)
  // Nothing is promised that could only come later.
  expect(await responseOf(await anonymous.post(initialize()))).toMatchObject({
    result: { capabilities: { tools: { listChanged: false }, resources: { listChanged: false } } },
  })
  expect(await anonymous.call('echo', { value: 'a' })).toMatchObject({
    result: { content: [{ type: 'text', text: 'a' }] },
  })
  for (const client of [anonymous, fixture.client()]) {
    const listed = JSON.stringify(await client.request('tools/list'))
    expect(listed).toContain('"securitySchemes":[{"type":"noauth"}')
    expect(listed).toContain('"securitySchemes":[{"type":"oauth2","scopes":["mcp"]}]')
  }
})

it('a shared process lists sign_in for anonymous callers from whom access rules hide tools, in every revision', async () => {
  const publicTools = new Set(['echo'])
  const policy = { allow: ['*'], deny: [], publicTools, scopes: [] }
  const fixture = open([], { process: 'shared', policy })
  const access = { ...fullAccess, allowsTool: (name: string) => publicTools.has(name) }
  const namesFor = async (caller: Caller): Promise<unknown[][]> => {
    const client = fixture.client(caller)
    return [names(await client.request('tools/list')), names(await client.request2026('tools/list'))]
  }
  const both = (listed: string[]): string[][] => [listed, listed]
  expect(await namesFor(anonymousCaller(access, () => true))).toEqual(both(['echo', 'sign_in']))
  expect(await namesFor(anonymousCaller(access, () => false))).toEqual(both(['echo']))
  for (const listed of await namesFor(callerOf('ada'))) expect(listed).not.toContain('sign_in')
})

describe('a tool that the policy or the access rules hide', () => {
  const policy = {
    allow: ['*'],
    deny: ['secret_*'],
    publicTools: new Set<string>(),
    scopes: [['di*', 'admin']] as [string, string][],
  }
  const reader = callerOf('ada', {
    access: { ...fullAccess, scopes: ['mcp'], allowsTool: (name) => name !== 'hang' },
  })

  it('a hidden tool is left out of lists, and reported as unknown when called', async () => {
    const fixture = open([], { policy })
    const client = fixture.client(reader)
    const first = await client.request('tools/list')
    const rest = await client.request('tools/list', { cursor: first.result?.['nextCursor'] })
    const listed = [...names(first), ...names(rest)]
    expect(listed).toContain('echo')
    for (const name of ['secret_admin', 'hang', 'die']) {
      expect(listed).not.toContain(name)
      const message = `There is no tool "${name}". Call tools/list for the names.`
      expect(await client.call(name)).toMatchObject({ error: { code: -32_602, message } })
    }
    expect(names(await fixture.client().request('tools/list'))).toContain('hang')
    expect(fixture.processes()).toHaveLength(1)
  })

  it('a hidden tool is recorded as refused_rule, and every other call with its outcome', async () => {
    const fixture = open([], { policy })
    const client = fixture.client(reader)
    const has = (name: string): boolean | undefined =>
      fixture.endpoint.has({ event: 'tool_called', field: 'tool', name })
    expect(has('echo')).toBeUndefined()
    await client.call('echo', { value: 1 })
    expect(has('echo')).toBe(true)
    let cursor: unknown
    do cursor = (await client.request('tools/list', { cursor })).result?.['nextCursor']
    while (cursor !== undefined)
    await client.call('fail')
    await client.call('refuse')
    await client.call('hang')
    await client.call('secret_admin')
    await client.call('no_such')
    await client.request('resources/read', { uri: 'test://one?secret' })
    await client.request('prompts/get', { name: 'hello' })
    await client.request('tools/list')
    const recorded = ['tool_called', 'resource_read', 'prompt_got'].flatMap((event) =>
      fixture.reported(event),
    )
    expect(
      recorded.map(({ sub, tool, resource, prompt, outcome, unknown }) => [
        sub,
        tool ?? resource ?? prompt,
        outcome,
        unknown,
      ]),
    ).toEqual([
      ['ada', 'echo', 'ok', undefined],
      ['ada', 'fail', 'tool_error', undefined],
      ['ada', 'refuse', 'failed', undefined],
      ['ada', 'hang', 'refused_rule', undefined],
      ['ada', 'secret_admin', 'refused_rule', undefined],
      ['ada', 'no_such', 'failed', true],
      ['ada', 'test://one', 'ok', undefined],
      ['ada', 'hello', 'ok', undefined],
    ])
    expect([has('echo'), has('secret_admin'), has('no_such')]).toEqual([true, true, false])
  })
})

it('calls of a process whose tools have not been listed are recorded as unlisted, unless one of the tool has succeeded', async () => {
  const fixture = open(['--lists', 'nothing'])
  const client = fixture.client()
  for (const name of ['echo', 'fail', 'no_such']) await client.call(name)
  expect(
    fixture.reported('tool_called').map(({ tool, unknown, unlisted }) => [tool, unknown, unlisted]),
  ).toEqual([
    ['echo', undefined, undefined],
    ['fail', undefined, true],
    ['no_such', undefined, true],
  ])
})

describe('a question of a process in the middle of a call', () => {
  const elicitation = { elicitation: {} }
  it.each([
    ['legacy', 'ask'],
    ['both', 'ask'],
    ['modern', 'input'],
  ])('questions of a process of %s go to the session that declared support for them', async (era, tool) => {
    const fixture = open(['--era', era])
    const client = fixture.client()
    const asking = await client.open(elicitation)
    const plain = await client.open()
    const stream = readMessages(await asking.post(toolCall(tool)))
    const question = (await stream.next())?.message
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Sure?' } })
    const answer = { jsonrpc: '2.0', id: question?.id, result: { action: 'accept', content: { yes: true } } }
    // Another session of the same person cannot answer in its place.
    await plain.post({ ...answer, result: { action: 'cancel' } })
    expect((await asking.post(answer)).status).toBe(202)
    const result = JSON.stringify((await stream.next())?.message)
    expect(result).toContain('accept')
    expect(result).not.toContain('cancel')
    expect(fixture.processes()).toHaveLength(2)
  })

  it('a question of a process is refused with the reason if the client does not support it', async () => {
    const client = open(['--era', 'legacy']).client()
    const reason = 'this process serves no session that can be asked'
    expect(JSON.stringify(await client.call('ask'))).toContain(reason)
    const session = await client.open({ roots: {} })
    expect(JSON.stringify(await session.call('ask'))).toContain('the client has not declared it')
  })

  it('a question of a process of 2026-07-28 is a result whose state belongs to one person', async () => {
    const fixture = open(['--era', 'modern'], { process: 'shared' })
    const client = fixture.client()
    const asked = await client.request2026('tools/call', { name: 'input' }, elicitation)
    expect(asked).toMatchObject({ result: { resultType: 'input_required', inputRequests: { sure: {} } } })
    const requestState = asked.result?.['requestState']
    expect(requestState).not.toContain('state of the process')
    const inputResponses = { sure: { action: 'accept', content: {} } }
    const retry = { name: 'input', inputResponses, requestState }
    expect(JSON.stringify(await client.request2026('tools/call', retry))).toContain('state of the process')
    expect(await fixture.client(callerOf('bob')).request2026('tools/call', retry)).toMatchObject({
      error: { code: -32_602, message: 'Invalid or expired requestState' },
    })
  })

  it('a question of a process ends with its call', async () => {
    const client = open(['--era', 'legacy']).client()
    const session = await client.open(elicitation)
    const stream = readMessages(await session.post(toolCall('ask')))
    expect((await stream.next())?.message.method).toBe('elicitation/create')
    expect((await session.end()).status).toBe(200)
    await stream.rest()
  })
})

it('a response that cannot be sent ends its call with an error, and is logged', async () => {
  const fixture = open()
  const client = fixture.client()
  await client.call('echo', { value: 1 })
  const send = vi.spyOn(WebStandardStreamableHTTPServerTransport.prototype, 'send')
  send.mockRejectedValueOnce(new RangeError('Maximum call stack size exceeded'))
  expect(await client.call('echo', { value: 2 })).toMatchObject({ id: 1, error: { code: -32_603 } })
  send.mockRestore()
  expect(fixture.reported('upstream_output_skipped')).toMatchObject([
    { sub: 'ada', line: expect.stringContaining('Maximum call stack') },
  ])
  expect(await client.call('echo', { value: 3 })).toMatchObject({ result: {} })
})
