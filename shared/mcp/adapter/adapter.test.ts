import type { JsonObject } from '../../json-object.ts'
import type { JsonRpcMessage, JsonRpcRequest } from '../json-rpc.ts'
import { mcpMetaKey } from '../mcp-protocol.ts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  connectAdapter,
  createFakeClock,
  createFakeClient,
  createFakeServer2026,
  type Arrival,
  turns,
} from '../../../tests/support/adapter/fakes.ts'
import { until } from '../../../tests/support/until.ts'

const everything = {
  tools: { listChanged: true },
  prompts: {},
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
  tasks: { list: {} },
  novelty: {},
  extensions: { 'io.modelcontextprotocol/ui': {}, 'io.modelcontextprotocol/tasks': {} },
}
const asking = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true }, tasks: {} }
const askName = {
  method: 'elicitation/create',
  params: { message: 'Name?', requestedSchema: { type: 'object' } },
}

function setUp(options: { capabilities?: JsonObject; discovered?: JsonObject; rest?: JsonObject } = {}) {
  const clock = createFakeClock()
  const client = createFakeClient()
  const server = createFakeServer2026(options.capabilities ?? {}, options.rest)
  const adapter = connectAdapter({
    client,
    server,
    runtime: clock,
    ...(options.discovered && { discovered: options.discovered }),
  })
  const send = (message: Omit<JsonRpcRequest, 'jsonrpc'>) => adapter.receive({ jsonrpc: '2.0', ...message })
  const tell = (method: string, params?: JsonObject) =>
    adapter.receive({ jsonrpc: '2.0', method, ...(params && { params }) })
  async function initialize(capabilities: JsonObject = asking, protocolVersion = '2025-11-25') {
    const clientInfo = { name: 'host', version: '1' }
    await send({ id: 'init', method: 'initialize', params: { protocolVersion, capabilities, clientInfo } })
    const response = await client.response('init')
    client.sent.length = 0
    return response
  }
  const answer = (id: unknown, result: JsonObject) =>
    adapter.receive({ jsonrpc: '2.0', id, result } as JsonRpcMessage)
  return { clock, client, server, adapter, send, tell, initialize, answer }
}

afterEach(() => void vi.useRealTimers())

it.each([
  ['2024-11-05', '2024-11-05'],
  ['2025-11-25', '2025-11-25'],
  ['2026-07-28', '2025-11-25'],
  ['tomorrow', '2025-11-25'],
])('an initialize for %s is answered with %s', async (asked, answered) => {
  const { initialize } = setUp()
  expect(await initialize({}, asked)).toMatchObject({ result: { protocolVersion: answered } })
})

it('the result of initialize is made from the discovery', async () => {
  const { initialize } = setUp({ capabilities: everything, rest: { instructions: 'Be kind.' } })
  const { tasks: _, novelty: __, extensions: ___, ...capabilities } = everything
  expect(await initialize()).toEqual({
    jsonrpc: '2.0',
    id: 'init',
    result: {
      protocolVersion: '2025-11-25',
      capabilities: { ...capabilities, extensions: { 'io.modelcontextprotocol/ui': {} } },
      serverInfo: { name: 'far', version: '7' },
      instructions: 'Be kind.',
    },
  })
})

it('initialize takes serverInfo from the body of older servers, or does without', async () => {
  const old = setUp({ discovered: { serverInfo: { name: 'body', version: '1' } } })
  expect(await old.initialize()).toMatchObject({ result: { serverInfo: { name: 'body', version: '1' } } })
  expect(old.server.all).toEqual([])
  const none = setUp({ discovered: {} })
  expect(await none.initialize()).toMatchObject({
    result: { capabilities: {}, serverInfo: { name: 'unknown', version: '0' } },
  })
})

it('initialize fails with the discovery, and asks again the next time', async () => {
  const { send, client, server } = setUp()
  let fails = true
  const request = server.request.bind(server)
  server.request = (...sent) => (fails ? Promise.reject(new Error('no route')) : request(...sent))
  await send({ id: 1, method: 'initialize' })
  expect(await client.response(1)).toMatchObject({ error: { message: 'no route' } })
  fails = false
  await send({ id: 2, method: 'initialize' })
  expect(await client.response(2)).toHaveProperty('result')
})

describe('requests', () => {
  it('requests carry the claims of the client and keep the rest of _meta', async () => {
    const { initialize, send, server, client } = setUp()
    await initialize()
    await send({ id: 1, method: 'logging/setLevel', params: { level: 'notice' } })
    expect(await client.response(1)).toMatchObject({ result: {} })
    const _meta = { progressToken: 'p', traceparent: 't', 'com.example/x': 1 }
    await send({ id: 'same', method: 'tools/call', params: { name: 'a', _meta } })
    const { message } = await server.next('tools/call')
    expect(message.id).not.toBe('same')
    expect(message.params).toEqual({
      name: 'a',
      _meta: {
        ..._meta,
        [mcpMetaKey.protocolVersion]: '2026-07-28',
        [mcpMetaKey.clientInfo]: { name: 'host', version: '1' },
        [mcpMetaKey.clientCapabilities]: { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} },
        [mcpMetaKey.logLevel]: 'notice',
      },
    })
  })

  it('the next initialize resets the log level', async () => {
    const { initialize, send, server, client } = setUp()
    await send({ id: 1, method: 'logging/setLevel', params: { level: 'info' } })
    await client.response(1)
    await initialize()
    await send({ id: 2, method: 'prompts/list' })
    expect((await server.next('prompts/list')).message.params).not.toHaveProperty([
      '_meta',
      mcpMetaKey.logLevel,
    ])
  })

  it('requests pass without initialize and without params', async () => {
    const { send, server, client } = setUp()
    await send({ id: 1, method: 'com.example/own' })
    const arrival = await server.next('com.example/own')
    expect(arrival.message.params).toEqual({
      _meta: { [mcpMetaKey.protocolVersion]: '2026-07-28', [mcpMetaKey.clientCapabilities]: {} },
    })
    arrival.answer({ resultType: 'complete', ttlMs: 5, cacheScope: 'public', more: [1] })
    expect(await client.response(1)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { ttlMs: 5, cacheScope: 'public', more: [1] },
    })
  })

  it.each([
    ['ping', undefined, { result: {} }],
    ['logging/setLevel', { level: 'loud' }, { error: { code: -32_602 } }],
    ['resources/subscribe', {}, { error: { code: -32_602 } }],
    ['resources/unsubscribe', { uri: 1 }, { error: { code: -32_602 } }],
    ['resources/unsubscribe', { uri: 'x:unknown' }, { result: {} }],
  ])('%s %j is answered by the adapter', async (method, params, response) => {
    const { send, server, client } = setUp()
    await send({ id: 1, method, ...(params && { params }) })
    expect(await client.response(1)).toMatchObject(response)
    expect(server.all).toEqual([])
  })

  it('notifications that 2026-07-28 lacks are dropped', async () => {
    const { tell, server, client, initialize } = setUp({ capabilities: everything })
    await initialize()
    await tell('notifications/roots/list_changed')
    await turns()
    expect(client.sent).toEqual([])
    expect(server.all.map(({ message }) => message.method)).toEqual(['server/discover'])
  })
})

describe('responses', () => {
  it.each([
    ['resources/read', { uri: 'x:1' }, -32_602, -32_002],
    ['resources/read', {}, -32_602, -32_602],
    ['tools/call', { name: 'a' }, -32_021, -32_603],
    ['prompts/list', {}, -32_020, -32_603],
    ['prompts/list', {}, -32_099, -32_603],
    ['prompts/list', {}, -32_001, -32_001],
    ['prompts/list', {}, 7, 7],
  ])('%s %j: error %i becomes %i', async (method, params, given, expected) => {
    const { send, server, client } = setUp()
    await send({ id: 1, method, params })
    ;(await server.next(method)).fail(given, 'No', { a: 1 })
    expect(await client.response(1)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: expected, message: 'No', data: { a: 1 } },
    })
  })

  it.each([
    ['no object', 7],
    ['an unknown type', { resultType: 'task' }],
    ['a question where none is allowed', { resultType: 'input_required', requestState: 's' }],
  ])('a response with %s is an error', async (_, result) => {
    const { send, server, client } = setUp()
    await send({ id: 1, method: 'prompts/list' })
    ;(await server.next('prompts/list')).answer(result as JsonObject)
    expect(await client.response(1)).toMatchObject({ error: { code: -32_603 } })
  })

  it('progress passes with the token of the client, and nothing after the response', async () => {
    const { send, server, client } = setUp()
    await send({ id: 1, method: 'tools/call', params: { name: 'a', _meta: { progressToken: 9 } } })
    const arrival = await server.next('tools/call')
    const progress = {
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 9, progress: 1 },
    } as const
    await arrival.say(progress)
    await arrival.say({ jsonrpc: '2.0', id: 5, method: 'roots/list' })
    arrival.answer({ content: [] })
    await client.response(1)
    await arrival.say(progress)
    expect(client.sent).toEqual([progress, { jsonrpc: '2.0', id: 1, result: { content: [] } }])
  })

  it('structured output and its schema are reduced to the form that old clients accept', async () => {
    const { send, server, client } = setUp()
    await send({ id: 1, method: 'tools/call', params: { name: 'a' } })
    ;(await server.next('tools/call')).answer({ content: [], structuredContent: [1] })
    expect(await client.response(1)).toMatchObject({ result: { content: [{ type: 'text', text: '[1]' }] } })
    expect(client.responses(1)[0]).not.toHaveProperty('result.structuredContent')
    await send({ id: 2, method: 'tools/list' })
    const tool = { name: 'a', inputSchema: { type: 'object' } }
    const good = { ...tool, name: 'b', outputSchema: { type: 'object' } }
    ;(await server.next('tools/list')).answer({ tools: [{ ...tool, outputSchema: { type: 'array' } }, good] })
    expect(await client.response(2)).toMatchObject({ result: { tools: [tool, good] } })
    expect(client.responses(2)[0]).not.toHaveProperty('result.tools.0.outputSchema')
  })
})

describe('content newer than the revision', () => {
  const audio = { type: 'audio', data: '', mimeType: 'audio/ogg' }
  const link = { type: 'resource_link', name: 'a', title: 'A', uri: 'x:1' }
  const asText = { audio: { type: 'text', text: '[audio/ogg]' }, link: { type: 'text', text: 'A: x:1' } }
  it.each([
    ['2024-11-05', [asText.audio, asText.link]],
    ['2025-03-26', [audio, asText.link]],
    ['2025-06-18', [audio, link]],
    ['2025-11-25', [audio, link]],
  ])('content newer than the revision: %s', async (revision, seen) => {
    const { initialize, send, server, client } = setUp()
    await initialize({}, revision)
    await send({ id: 1, method: 'tools/call', params: { name: 'a' } })
    ;(await server.next('tools/call')).answer({ content: [audio, link, 7] })
    expect(await client.response(1)).toMatchObject({ result: { content: [...seen, 7] } })
    await send({ id: 2, method: 'prompts/get', params: { name: 'a' } })
    const messages = [audio, link].map((content) => ({ role: 'user', content }))
    ;(await server.next('prompts/get')).answer({ messages })
    const expected = seen.map((content) => ({ role: 'user', content }))
    expect(await client.response(2)).toMatchObject({ result: { messages: expected } })
  })
})

it('a cancellation aborts the request and sends no response', async () => {
  const { send, tell, server, client } = setUp()
  await send({ id: 1, method: 'tools/call', params: { name: 'a' } })
  const arrival = await server.next('tools/call')
  await tell('notifications/cancelled', { requestId: '1' })
  expect(arrival.options.signal?.aborted).toBe(false)
  await tell('notifications/cancelled', { requestId: 1 })
  expect(arrival.options.signal?.aborted).toBe(true)
  arrival.answer({})
  await turns()
  expect(client.sent).toEqual([])
})

describe('rounds of input', () => {
  async function callTool(given: ReturnType<typeof setUp>, id = 1, params: JsonObject = { name: 'a' }) {
    await given.send({ id, method: 'tools/call', params })
    return given.server.next('tools/call')
  }

  it('input requests become requests to the client, and a request with the answers', async () => {
    const given = setUp()
    await given.initialize()
    const first = await callTool(given, 1, { name: 'a', arguments: { x: 1 }, _meta: { traceparent: 't' } })
    const inputRequests = {
      name: askName,
      link: {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'Go', url: 'https://x.example' },
      },
      think: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } },
      roots: { method: 'roots/list' },
    }
    first.answer({ resultType: 'input_required', inputRequests, requestState: ' {"a": 1}\n' })
    await until(() => given.client.requests().length === 4, 'four questions')
    const asks = given.client.requests()
    expect(new Set(asks.map(({ id }) => id)).size).toBe(4)
    expect(asks.map(({ method }) => method)).toEqual(Object.values(inputRequests).map(({ method }) => method))
    expect(asks[0]!.params).toEqual(askName.params)
    expect(asks[1]!.params).toMatchObject({ mode: 'url', elicitationId: expect.any(String) })
    expect(asks[3]).not.toHaveProperty('params')
    // Another call meanwhile knows nothing of it.
    const other = await callTool(given, 2, { name: 'other' })
    expect(other.message.params).not.toHaveProperty('inputResponses')
    expect(other.message.params).not.toHaveProperty('requestState')
    for (const [index, { id }] of asks.entries()) await given.answer(id, { answer: index })
    const second = await given.server.next('tools/call')
    expect(second.message.id).not.toBe(first.message.id)
    expect(second.message.params).toEqual({
      ...first.message.params,
      inputResponses: {
        name: { answer: 0 },
        link: { answer: 1 },
        think: { answer: 2 },
        roots: { answer: 3 },
      },
      requestState: ' {"a": 1}\n',
    })
    // The next round has a state of its own, or none.
    second.answer({ resultType: 'input_required', inputRequests: { again: askName } })
    await until(() => given.client.requests().length === 5, 'a fifth question')
    await given.answer(given.client.requests()[4]!.id, { action: 'decline' })
    const third = await given.server.next('tools/call')
    expect(third.message.params).not.toHaveProperty('requestState')
    expect(third.message.params).toMatchObject({ inputResponses: { again: { action: 'decline' } } })
    third.answer({ resultType: 'complete', content: [] })
    expect(await given.client.response(1)).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } })
  })

  it('a result with a state alone is repeated after a pause', async () => {
    const given = setUp()
    const first = await callTool(given)
    first.answer({ resultType: 'input_required', requestState: 'later' })
    const second = await given.server.next('tools/call')
    expect(second.message.params).toMatchObject({ requestState: 'later' })
    expect(second.message.params).not.toHaveProperty('inputResponses')
  })

  it('a call has at most ten rounds of input', async () => {
    const given = setUp()
    await given.initialize()
    await given.send({ id: 1, method: 'prompts/get', params: { name: 'a' } })
    for (let round = 1; round <= 11; round += 1) {
      const arrival = await given.server.next('prompts/get')
      arrival.answer({ resultType: 'input_required', inputRequests: { k: askName } })
      if (round === 11) break
      await until(() => given.client.requests().length === round, `question ${round}`)
      await given.answer(given.client.requests().at(-1)!.id, { action: 'cancel' })
    }
    expect(await given.client.response(1)).toMatchObject({ error: { code: -32_603 } })
    expect(given.client.requests()).toHaveLength(10)
  })

  it.each([
    ['tools in sampling', { sampling: {} }, { method: 'sampling/createMessage', params: { tools: [] } }],
    ['url', { elicitation: {} }, { method: 'elicitation/create', params: { mode: 'url' } }],
    ['an unknown kind', asking, { method: 'ping' }],
    ['no params', asking, { method: 'elicitation/create' }],
    ['no object', asking, 7],
  ])('input requests for %s that the client does not support end the call', async (_, capabilities, ask) => {
    const given = setUp()
    await given.initialize(capabilities)
    const first = await callTool(given)
    first.answer({ resultType: 'input_required', inputRequests: { a: askName, k: ask } })
    expect(await given.client.response(1)).toMatchObject({ error: { code: -32_603 } })
    expect(given.client.requests()).toEqual([])
  })

  it('a result without input requests or with too many ends the call', async () => {
    const given = setUp()
    await given.initialize()
    ;(await callTool(given, 1)).answer({ resultType: 'input_required', inputRequests: {} })
    expect(await given.client.response(1)).toMatchObject({ error: { code: -32_603 } })
    const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`k${index}`, askName]))
    ;(await callTool(given, 2)).answer({ resultType: 'input_required', inputRequests: many })
    expect(await given.client.response(2)).toMatchObject({ error: { code: -32_603 } })
  })

  it('a refused input request ends the call and cancels the other requests', async () => {
    const given = setUp()
    await given.initialize()
    const first = await callTool(given)
    first.answer({ resultType: 'input_required', inputRequests: { a: askName, b: askName } })
    await until(() => given.client.requests().length === 2, 'two questions')
    const [a, b] = given.client.requests()
    await given.adapter.receive({ jsonrpc: '2.0', id: b!.id, error: { code: -1, message: 'User said no' } })
    expect(await given.client.response(1)).toMatchObject({
      error: { code: -32_603, message: expect.stringContaining('User said no') },
    })
    expect(given.client.notifications('notifications/cancelled')).toMatchObject([
      { params: { requestId: a!.id } },
    ])
    await given.answer(a!.id, {})
    await given.answer(b!.id, {})
    await turns()
    expect(given.server.all.filter(({ message }) => message.method === 'tools/call')).toHaveLength(1)
  })

  it('input requests are cancelled with their call', async () => {
    const given = setUp()
    await given.initialize()
    const first = await callTool(given)
    first.answer({ resultType: 'input_required', inputRequests: { a: askName } })
    await until(() => given.client.requests().length === 1, 'a question')
    await given.tell('notifications/cancelled', { requestId: 1 })
    await turns()
    const { id } = given.client.requests()[0]!
    expect(given.client.notifications('notifications/cancelled')).toMatchObject([
      { params: { requestId: id } },
    ])
    await given.answer(id, { action: 'accept' })
    await turns()
    expect(given.client.responses(1)).toEqual([])
    expect(given.server.all.filter(({ message }) => message.method === 'tools/call')).toHaveLength(1)
  })

  it('input requests wait for minutes with progress, and expire', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const given = setUp()
    await given.initialize()
    const first = await callTool(given, 1, { name: 'a', _meta: { progressToken: 'p' } })
    const progress = (value: number, rest: JsonObject = {}) =>
      ({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: 'p', progress: value, ...rest },
      }) as const
    await first.say(progress(3, { total: 4 }))
    first.answer({ resultType: 'input_required', inputRequests: { a: askName } })
    await until(() => given.client.requests().length === 1, 'a question')
    await given.clock.advance(40)
    await given.answer(given.client.requests()[0]!.id, { action: 'accept' })
    const second = await given.server.next('tools/call')
    await second.say(progress(1, { total: 4 }))
    const seen = given.client.notifications('notifications/progress').map(({ params }) => params!['progress'])
    expect(seen.length).toBeGreaterThanOrEqual(4)
    expect(seen).toEqual([...seen].toSorted((a, b) => Number(a) - Number(b)))
    expect(new Set(seen).size).toBe(seen.length)
    second.answer({ resultType: 'input_required', inputRequests: { a: askName } })
    await until(() => given.client.requests().length === 2, 'a second question')
    await given.clock.advance(590)
    expect(given.client.responses(1)).toEqual([])
    await given.clock.advance(20)
    expect(await given.client.response(1)).toMatchObject({ error: { code: -32_603 } })
    expect(given.client.notifications('notifications/cancelled')).toHaveLength(1)
  })
})

describe('change notices', () => {
  const meta = { [mcpMetaKey.subscriptionId]: 1 }
  const ack = (notifications: JsonObject) =>
    ({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: meta },
    }) as const
  const toolsChanged = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const
  const kinds = { toolsListChanged: true, resourcesListChanged: true }

  async function listening() {
    const given = setUp({ capabilities: everything })
    await given.initialize()
    await given.tell('notifications/initialized')
    const stream = await given.server.next('subscriptions/listen')
    return { ...given, stream }
  }

  it('change notifications come from one stream for all announced lists, without its id', async () => {
    const { stream, client } = await listening()
    expect(stream.message.params!['notifications']).toEqual(kinds)
    await stream.say(ack(kinds))
    await stream.say({ ...toolsChanged, params: { _meta: { ...meta, own: 1 } } })
    await stream.say({
      jsonrpc: '2.0',
      method: 'notifications/resources/list_changed',
      params: { _meta: meta },
    })
    expect(client.sent).toEqual([
      { ...toolsChanged, params: { _meta: { own: 1 } } },
      { jsonrpc: '2.0', method: 'notifications/resources/list_changed', params: {} },
    ])
  })

  it('a resource is subscribed to in a new stream; the old one stays until it is acknowledged', async () => {
    const { stream, client, server, send } = await listening()
    await stream.say(ack(kinds))
    await send({ id: 1, method: 'resources/subscribe', params: { uri: 'x:1' } })
    const second = await server.next('subscriptions/listen')
    await send({ id: 2, method: 'resources/subscribe', params: { uri: 'x:2' } })
    expect(second.message.params!['notifications']).toEqual({ ...kinds, resourceSubscriptions: ['x:1'] })
    await turns()
    expect(stream.options.signal!.aborted).toBe(false)
    expect(client.sent).toEqual([])
    await second.say(ack({ ...kinds, resourceSubscriptions: ['x:1'] }))
    await until(() => stream.options.signal!.aborted, 'the old stream to end')
    const third = await server.next('subscriptions/listen')
    expect(third.message.params!['notifications']).toEqual({
      ...kinds,
      resourceSubscriptions: ['x:1', 'x:2'],
    })
    await third.say(ack({ ...kinds, resourceSubscriptions: ['x:1', 'x:2'] }))
    expect(await client.response(1)).toMatchObject({ result: {} })
    expect(await client.response(2)).toMatchObject({ result: {} })
    const updated = {
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: 'x:2' },
    } as const
    await second.say(updated)
    await third.say(updated)
    expect(client.notifications()).toEqual([updated])
    await send({ id: 3, method: 'resources/unsubscribe', params: { uri: 'x:1' } })
    expect((await server.next('subscriptions/listen')).message.params!['notifications']).toEqual({
      ...kinds,
      resourceSubscriptions: ['x:2'],
    })
  })

  it('several resources are subscribed to in one stream, which answers all of them', async () => {
    const { stream, client, server, send } = await listening()
    await stream.say(ack(kinds))
    const uris = ['x:1', 'x:2', 'x:3']
    for (const [index, uri] of uris.entries())
      await send({ id: index, method: 'resources/subscribe', params: { uri } })
    const second = await server.next('subscriptions/listen')
    expect(second.message.params!['notifications']).toEqual({ ...kinds, resourceSubscriptions: uris })
    await second.say(ack({ ...kinds, resourceSubscriptions: uris }))
    for (const index of uris.keys()) expect(await client.response(index)).toMatchObject({ result: {} })
  })

  it.each<[string, (stream: Arrival) => unknown]>([
    ['an error', (stream) => stream.fail(-32_603, 'Full')],
    ['silence about it', (stream) => stream.say(ack(kinds))],
  ])('a subscription is refused if the server answers with %s', async (_, answer) => {
    const { stream, client, server, send } = await listening()
    await stream.say(ack(kinds))
    await send({ id: 1, method: 'resources/subscribe', params: { uri: 'x:1' } })
    answer(await server.next('subscriptions/listen'))
    expect(await client.response(1)).toMatchObject({ error: { code: -32_603 } })
    expect((await server.next('subscriptions/listen')).message.params!['notifications']).toEqual(kinds)
  })

  it('a cut stream is opened again with backoff', async () => {
    const { stream, client, server, clock } = await listening()
    await stream.say(ack(kinds))
    const streams = () => server.all.filter(({ message }) => message.method === 'subscriptions/listen')
    const waits: number[] = []
    for (let tries = 1; tries <= 9; tries += 1) {
      streams().at(-1)!.break(new Error('cut'))
      const before = clock.now()
      while (streams().length === tries && clock.now() < before + 100) await clock.advance(1)
      waits.push(clock.now() - before)
    }
    expect(waits[0]).toBeLessThanOrEqual(2)
    expect(waits.at(-1)).toBeGreaterThanOrEqual(30)
    expect(waits.at(-1)).toBeLessThanOrEqual(61)
    const last = server.all.findLast(({ message }) => message.method === 'subscriptions/listen')!
    await last.say(ack(kinds))
    await last.say(toolsChanged)
    expect(client.sent).toEqual([toolsChanged])
  })

  it('a stream that lived long is opened again soon', async () => {
    const { stream, server, clock } = await listening()
    let last = stream
    for (let cut = 1; cut <= 8; cut += 1) {
      await last.say(ack(kinds))
      await clock.advance(40)
      last.break(new Error('cut'))
      await clock.advance(2)
      last = await server.next('subscriptions/listen')
    }
  })

  it('a cut stream is opened again soon, however many subscriptions there are', async () => {
    const { stream, server, send, client, clock } = await listening()
    await stream.say(ack(kinds))
    let last = stream
    for (let count = 1; count <= 8; count += 1) {
      await send({ id: count, method: 'resources/subscribe', params: { uri: `x:${count}` } })
      last = await server.next('subscriptions/listen')
      await last.say(ack(last.message.params!['notifications'] as JsonObject))
      await client.response(count)
    }
    last.break(new Error('cut'))
    await clock.advance(2)
    await server.next('subscriptions/listen')
  })

  it.each<[string, (stream: Arrival) => unknown]>([
    ['a result', (stream) => stream.answer({ resultType: 'complete', _meta: meta })],
    [
      'a cancellation',
      (stream) => stream.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }),
    ],
  ])('a stream that the server ended by %s is opened again', async (_, end) => {
    const { stream, server, clock } = await listening()
    await stream.say(ack(kinds))
    await turns()
    end(stream)
    await clock.advance(2)
    await server.next('subscriptions/listen')
  })

  it('a stream is not opened again if the server does not know the method', async () => {
    const { stream, server, clock } = await listening()
    stream.fail(-32_601, 'Method not found')
    await clock.advance(500)
    expect(server.all.filter(({ message }) => message.method === 'subscriptions/listen')).toHaveLength(1)
  })

  it('no stream is opened if nothing is announced', async () => {
    const given = setUp({ capabilities: { tools: {} } })
    await given.initialize()
    await given.tell('notifications/initialized')
    await given.clock.advance(500)
    expect(given.server.all.map(({ message }) => message.method)).toEqual(['server/discover'])
  })
})

it('close aborts everything and sends nothing more', async () => {
  const given = setUp({ capabilities: everything })
  await given.initialize()
  await given.tell('notifications/initialized')
  const stream = await given.server.next('subscriptions/listen')
  for (const id of [1, 2]) await given.send({ id, method: 'tools/call', params: { name: 'a' } })
  const [first, second] = [await given.server.next('tools/call'), await given.server.next('tools/call')]
  first.answer({ resultType: 'input_required', inputRequests: { a: askName } })
  await until(() => given.client.requests().length === 1, 'a question')
  const sent = given.client.sent.length
  await given.adapter.close()
  await given.adapter.close()
  second.answer({})
  await given.answer(given.client.requests()[0]!.id, {})
  await given.send({ id: 3, method: 'ping' })
  await stream.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  await given.clock.advance(1000)
  expect(stream.options.signal!.aborted).toBe(true)
  expect(second.options.signal!.aborted).toBe(true)
  expect(given.client.sent).toHaveLength(sent)
  expect(given.server.all.filter(({ message }) => message.method === 'tools/call')).toHaveLength(2)
})
