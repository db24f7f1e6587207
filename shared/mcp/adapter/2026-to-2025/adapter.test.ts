import { createSignal } from '../../../async.ts'
import type { JsonObject } from '../../../json-object.ts'
import type { JsonRpcId, JsonRpcRequest } from '../../json-rpc.ts'
import { mcpMetaKey } from '../../mcp-protocol.ts'
import { describe, expect, it } from 'vitest'
import { createAdapterFrom2026To2025 } from './adapter.ts'
import {
  createFakeClock,
  createFakeServer2025,
  createFakeClient,
  describeFailure,
  RefusedError,
  turns,
  type Arrival,
  type FakeSession2025,
} from '../../../../tests/support/adapter/fakes.ts'
import { until } from '../../../../tests/support/until.ts'

const everything = {
  tools: { listChanged: true },
  prompts: { listChanged: false },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
  tasks: { list: {} },
}
const asking = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }
const serverInfo = { [mcpMetaKey.serverInfo]: { name: 'old', version: '3' } }
const formParams = { message: 'Name?', requestedSchema: { type: 'object', properties: {} } }

function meta(capabilities: JsonObject = asking, more: JsonObject = {}): JsonObject {
  return {
    [mcpMetaKey.protocolVersion]: '2026-07-28',
    [mcpMetaKey.clientInfo]: { name: 'host', version: '1' },
    [mcpMetaKey.clientCapabilities]: capabilities,
    ...more,
  }
}

function setUp(capabilities: JsonObject = everything, rest: JsonObject = {}, refuse?: () => void) {
  const clock = createFakeClock()
  const client = createFakeClient()
  const server = createFakeServer2025(capabilities, rest, refuse)
  const warnings: string[] = []
  const adapter = createAdapterFrom2026To2025({
    client,
    server,
    describeFailure,
    runtime: clock,
    warn: (text) => warnings.push(text),
  })
  const send = (id: JsonRpcId, method: string, params: JsonObject = {}, _meta: unknown = meta()) =>
    adapter.receive({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })
  const cancel = (requestId: JsonRpcId, reason?: string) =>
    adapter.receive({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId, ...(reason !== undefined && { reason }) },
    })
  async function session(index = 0): Promise<FakeSession2025> {
    await until(() => server.sessions.length > index, 'a session')
    return server.sessions[index]!
  }
  async function arrival(method: string): Promise<Arrival> {
    return (await session()).next(method)
  }
  /** Sends a request, and returns it as it reaches the server. */
  async function reach(id: JsonRpcId, method: string, params?: JsonObject, _meta?: JsonObject) {
    await send(id, method, params, _meta)
    return arrival(method)
  }
  /** The result of a response; fails for an error. */
  async function result(id: JsonRpcId): Promise<JsonObject> {
    const response = await client.response(id)
    expect(response).toHaveProperty('result')
    return 'result' in response ? (response.result as JsonObject) : {}
  }
  return { clock, client, server, warnings, adapter, send, cancel, session, arrival, reach, result }
}

describe('server/discover', () => {
  it('is made of initialize, sent with the capabilities of the client', async () => {
    const given = setUp(everything, { instructions: 'Be kind.' })
    await given.send(1, 'server/discover', {}, meta({ ...asking, roots: { listChanged: true }, tasks: {} }))
    const { tasks: _, ...capabilities } = everything
    expect(await given.client.response(1)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities,
        instructions: 'Be kind.',
        ttlMs: 0,
        cacheScope: 'private',
        _meta: serverInfo,
      },
    })
    expect((await given.session()).params).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: asking,
      clientInfo: { name: 'host', version: '1' },
    })
  })

  it('fails when no session opens, and tries again the next time', async () => {
    let fails = true
    const given = setUp({}, {}, () => {
      if (fails) throw new Error('no route')
    })
    await given.send(1, 'server/discover')
    expect(await given.client.response(1)).toMatchObject({ error: { message: 'no route' } })
    fails = false
    await given.send(2, 'server/discover')
    await given.result(2)
  })
})

it('a refused initialize becomes an error of 2026-07-28', async () => {
  const given = setUp({}, {}, () => {
    throw new RefusedError(-32_022, 'No such version')
  })
  await given.send(1, 'tools/list')
  expect(await given.client.response(1)).toMatchObject({
    error: { code: -32_603, message: 'No such version' },
  })
})

describe('claims', () => {
  const version = mcpMetaKey.protocolVersion
  it.each([
    ['no _meta', null, -32_602],
    ['no version', { ...meta(), [version]: undefined }, -32_602],
    ['no capabilities', { ...meta(), [mcpMetaKey.clientCapabilities]: undefined }, -32_602],
    ['clientInfo without a name', { ...meta(), [mcpMetaKey.clientInfo]: { version: '1' } }, -32_602],
    ['an unknown level', { ...meta(), [mcpMetaKey.logLevel]: 'loud' }, -32_602],
    ['a future version', { ...meta(), [version]: '2027-01-01' }, -32_022],
  ])('with %s are refused', async (_, _meta, code) => {
    const given = setUp()
    await given.send(1, 'tools/list', {}, _meta)
    const response = await given.client.response(1)
    expect(response).toMatchObject({ error: { code } })
    if (code === -32_022) {
      const requested = (_meta as JsonObject)[version]
      expect(response).toMatchObject({ error: { data: { supported: ['2026-07-28'], requested } } })
    }
    expect(given.server.sessions).toEqual([])
  })

  it.each(['initialize', 'resources/subscribe', 'tasks/list'])('for %s are for nothing', async (method) => {
    const given = setUp()
    await given.send(1, method)
    expect(await given.client.response(1)).toMatchObject({ error: { code: -32_601 } })
  })

  it('do without clientInfo', async () => {
    const given = setUp()
    await given.send(1, 'server/discover', {}, { ...meta(), [mcpMetaKey.clientInfo]: undefined })
    await given.result(1)
    expect((await given.session()).params).toMatchObject({ clientInfo: { name: 'drawbridge' } })
  })
})

describe('sessions', () => {
  it('are one for each set of capabilities, in any order of members', async () => {
    const given = setUp()
    const sets = [
      { roots: {}, sampling: {} },
      { sampling: {}, roots: {} },
      { sampling: { tools: {} }, roots: {} },
    ]
    for (const [id, set] of sets.entries()) await given.send(id, 'server/discover', {}, meta(set))
    for (const id of sets.keys()) await given.result(id)
    expect(given.server.sessions).toHaveLength(2)
  })

  const set = (index: number) => meta({ extensions: { [`com.example/${index}`]: {} } })

  it('are eight; the idle one that was used longest ago makes room', async () => {
    const given = setUp()
    await given.send('busy', 'tools/call', { name: 'a' }, set(0))
    for (const index of [1, 2, 3, 4, 5, 6, 7, 1, 8]) {
      await given.send(`d${index}-${given.client.sent.length}`, 'server/discover', {}, set(index))
      await turns()
    }
    const closed = given.server.sessions.map(({ isClosed }) => isClosed())
    expect(closed.flatMap((isClosed, index) => (isClosed ? [index] : []))).toEqual([2])
    await given.send('again', 'server/discover', {}, set(2))
    await given.result('again')
    expect(given.server.sessions).toHaveLength(10)
  })

  it('that are all busy refuse another one, until a call is over', async () => {
    const given = setUp()
    for (let index = 0; index < 9; index += 1)
      await given.send(index, 'tools/call', { name: 'a' }, set(index))
    expect(await given.client.response(8)).toMatchObject({ error: { code: -32_603 } })
    ;(await (await given.session(3)).next('tools/call')).answer({ content: [] })
    await given.result(3)
    await given.send('again', 'server/discover', {}, set(8))
    await given.result('again')
  })

  it('whose only request was cancelled while they opened make room', async () => {
    const given = setUp()
    for (let index = 0; index < 8; index += 1) {
      await given.send(index, 'tools/call', { name: 'a' }, set(index))
      if (index === 3) await given.cancel(index)
    }
    await turns()
    await given.send('again', 'server/discover', {}, set(8))
    await given.result('again')
    expect((await given.session(3)).isClosed()).toBe(true)
  })
})

describe('requests', () => {
  it('go without what only 2026-07-28 knows', async () => {
    const given = setUp()
    const more = { traceparent: 't', progressToken: 'p', [mcpMetaKey.logLevel]: 'debug' }
    const { message } = await given.reach(
      'own',
      'tools/call',
      { name: 'a', inputResponses: { k: {} } },
      meta(asking, more),
    )
    expect(message.id).not.toBe('own')
    expect(message.params).toEqual({ name: 'a', _meta: { traceparent: 't', progressToken: message.id } })
    await given.send(2, 'com.example/own', { requestState: 'mine' })
    expect((await given.arrival('com.example/own')).message.params).toEqual({ requestState: 'mine' })
  })

  it.each([
    ['tools/list', true],
    ['resources/read', true],
    ['tools/call', false],
  ])('%s: the result is completed', async (method, cacheable) => {
    const given = setUp()
    await given.send(1, method)
    ;(await given.arrival(method)).answer({ more: 1, resultType: 'x', _meta: { own: 1 } })
    expect(await given.result(1)).toEqual({
      more: 1,
      resultType: 'complete',
      _meta: { own: 1, ...serverInfo },
      ...(cacheable && { ttlMs: 0, cacheScope: 'private' }),
    })
  })

  it.each([
    [-32_002, -32_602],
    [-32_042, -32_603],
    [-32_021, -32_603],
    [-32_000, -32_000],
    [7, 7],
  ])('error %i becomes %i', async (given, expected) => {
    const { send, arrival, client } = setUp()
    await send(1, 'resources/read', { uri: 'x:1' })
    ;(await arrival('resources/read')).fail(given, 'No', { a: 1 })
    expect(await client.response(1)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: expected, message: 'No', data: { a: 1 } },
    })
  })

  it('that fail are described, and the body of a 4xx counts', async () => {
    const given = setUp()
    ;(await given.reach(1, 'tools/list')).break(new Error('cut'))
    expect(await given.client.response(1)).toMatchObject({ error: { message: 'cut' } })
    ;(await given.reach(2, 'tools/list')).break(new RefusedError(-32_002, 'body'))
    expect(await given.client.response(2)).toMatchObject({ error: { code: -32_602, message: 'body' } })
    ;(await given.reach(3, 'tools/list')).answer(7 as unknown as JsonObject)
    expect(await given.client.response(3)).toMatchObject({ error: { code: -32_603 } })
  })

  it('list tools without tasks, and say what is hidden', async () => {
    const given = setUp()
    const tools = ['optional', 'required'].map((taskSupport) => ({
      name: taskSupport,
      execution: { taskSupport },
    }))
    for (const id of [1, 2]) {
      ;(await given.reach(id, 'tools/list')).answer({ tools })
      expect((await given.result(id))['tools']).toEqual([{ name: 'optional' }])
    }
    expect(given.warnings).toEqual([expect.stringContaining('"required"')])
  })

  it('that are cancelled are cancelled upstream, with the reason, and not answered', async () => {
    const given = setUp()
    const arrival = await given.reach('x', 'tools/call', { name: 'a' })
    await given.cancel('y')
    await given.cancel('x', 'Enough')
    await until(() => arrival.options.signal!.aborted, 'the request to end')
    expect((await given.session()).notified).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: arrival.message.id, reason: 'Enough' },
      },
    ])
    arrival.answer({})
    await turns()
    expect(given.client.sent).toEqual([])
  })

  it('that are cancelled before a session is open are never sent', async () => {
    const given = setUp()
    await given.send(1, 'tools/call', { name: 'a' })
    await given.cancel(1)
    await turns()
    const { all, notified } = await given.session()
    expect(all).toEqual([])
    expect(notified).toEqual([])
    expect(given.client.sent).toEqual([])
  })

  it('that are cancelled while the log level is set are never sent', async () => {
    const given = setUp()
    await given.send(0, 'server/discover')
    await given.result(0)
    const session = await given.session()
    const request = session.request
    const gate = createSignal()
    session.request = async (...parameters) => {
      await gate.given
      return request(...parameters)
    }
    await given.send(1, 'tools/call', { name: 'a' }, meta(asking, { [mcpMetaKey.logLevel]: 'info' }))
    await turns()
    await given.cancel(1)
    gate.give()
    await turns()
    expect(session.all.map(({ message }) => message.method)).toEqual(['logging/setLevel'])
    expect(session.notified).toEqual([])
    expect(given.client.sent).toHaveLength(1)
  })
})

describe('messages on the way', () => {
  const log = (level: string) =>
    ({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data: 'x' } }) as const

  it('of progress carry the token of the client', async () => {
    const given = setUp()
    const arrival = await given.reach(1, 'tools/call', { name: 'a' }, meta(asking, { progressToken: 'p' }))
    const progress = (progressToken: unknown) =>
      ({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: 1 },
      }) as const
    await arrival.say(progress(arrival.message.id))
    await arrival.say(progress('p'))
    await (await given.session()).stand(progress(arrival.message.id))
    expect(given.client.notifications()).toEqual([progress('p'), progress('p')])
  })

  it('of logging go to those who asked, from their level on', async () => {
    const given = setUp()
    const level = mcpMetaKey.logLevel
    const first = await given.reach(1, 'tools/call', { name: 'a' }, meta(asking, { [level]: 'warning' }))
    const session = await given.session()
    expect(session.all[0]!.message).toMatchObject({
      method: 'logging/setLevel',
      params: { level: 'warning' },
    })
    const second = await given.reach(2, 'tools/call', { name: 'b' })
    for (const each of ['info', 'warning', 'error', 'loud']) {
      await first.say(log(each))
      await second.say(log(each))
    }
    await session.stand(log('debug'))
    await session.stand(log('alert'))
    const seen = given.client.notifications().map(({ params }) => params!['level'])
    expect(seen).toEqual(['warning', 'error', 'alert'])
    await given.reach(3, 'tools/call', { name: 'c' }, meta(asking, { [level]: 'error' }))
    await given.reach(4, 'tools/call', { name: 'd' }, meta(asking, { [level]: 'info' }))
    expect(session.all.filter(({ message }) => message.method === 'logging/setLevel')).toHaveLength(2)
  })

  it('of logging are not asked of a server that does not log', async () => {
    const given = setUp({ tools: {} })
    await given.reach(1, 'tools/call', { name: 'a' }, meta(asking, { [mcpMetaKey.logLevel]: 'debug' }))
    expect((await given.session()).all).toHaveLength(1)
  })

  it('that 2026-07-28 does not have are left out, others pass', async () => {
    const given = setUp()
    const arrival = await given.reach(1, 'tools/call', { name: 'a' })
    for (const method of [
      'notifications/elicitation/complete',
      'notifications/tasks/status',
      'notifications/tools/list_changed',
      'com.example/own',
    ])
      await arrival.say({ jsonrpc: '2.0', method })
    expect(given.client.sent).toEqual([{ jsonrpc: '2.0', method: 'com.example/own' }])
  })
})

describe('requests of the server', () => {
  const ask = (
    id: JsonRpcId,
    method = 'elicitation/create',
    params: JsonObject = formParams,
  ): JsonRpcRequest => ({
    jsonrpc: '2.0',
    id,
    method,
    params,
  })

  async function asked(given: ReturnType<typeof setUp>, ...questions: JsonRpcRequest[]) {
    const arrival = await given.reach(1, 'tools/call', { name: 'a', arguments: { x: 1, y: 2 } })
    for (const question of questions) await arrival.say(question)
    const result = await given.result(1)
    return { arrival, result, state: result['requestState'] as string }
  }
  const retry = (given: ReturnType<typeof setUp>, id: JsonRpcId, more: JsonObject, params: JsonObject = {}) =>
    given.send(id, 'tools/call', { arguments: { y: 2, x: 1 }, name: 'a', ...params, ...more })

  it('become input_required; the retry answers them and gets the result', async () => {
    const given = setUp()
    const url = { mode: 'url', message: 'Go', url: 'https://x.example', elicitationId: 'e', task: {} }
    const think = { messages: [], maxTokens: 1, _meta: { progressToken: 4, own: 1 } }
    const { arrival, result, state } = await asked(
      given,
      ask(7),
      ask('8', 'elicitation/create', url),
      ask(9, 'sampling/createMessage', think),
      { jsonrpc: '2.0', id: 10, method: 'roots/list' },
      { jsonrpc: '2.0', id: 11, method: 'ping' },
    )
    expect(result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        'input-1': { method: 'elicitation/create', params: formParams },
        'input-2': {
          method: 'elicitation/create',
          params: { mode: 'url', message: 'Go', url: 'https://x.example' },
        },
        'input-3': {
          method: 'sampling/createMessage',
          params: { messages: [], maxTokens: 1, _meta: { own: 1 } },
        },
        'input-4': { method: 'roots/list' },
      },
      requestState: expect.stringMatching(/^[\w-]{32}$/),
      _meta: serverInfo,
    })
    const inputResponses = {
      'input-1': { action: 'accept', content: {} },
      'input-2': { action: 'accept' },
      'input-3': { model: 'm' },
      'input-4': { roots: [] },
      other: {},
    }
    await retry(given, 2, { inputResponses, requestState: state })
    await turns()
    const { answered, all } = await given.session()
    expect(answered).toEqual([
      { jsonrpc: '2.0', id: 11, result: {} },
      { jsonrpc: '2.0', id: 7, result: inputResponses['input-1'] },
      { jsonrpc: '2.0', id: '8', result: inputResponses['input-2'] },
      { jsonrpc: '2.0', id: 9, result: inputResponses['input-3'] },
      { jsonrpc: '2.0', id: 10, result: inputResponses['input-4'] },
    ])
    expect(given.client.responses(2)).toEqual([])
    arrival.answer({ content: [] })
    expect(await given.result(2)).toMatchObject({ resultType: 'complete', content: [] })
    expect(all).toHaveLength(1)
  })

  it('come in rounds, each with a state that is good once', async () => {
    const given = setUp()
    const { arrival, state } = await asked(given, ask(7))
    await retry(given, 2, { inputResponses: { 'input-1': { action: 'accept' } }, requestState: state })
    await arrival.say(ask(8))
    const second = await given.result(2)
    expect(second).toMatchObject({ inputRequests: { 'input-2': { method: 'elicitation/create' } } })
    expect(second['requestState']).not.toBe(state)
    await retry(given, 3, { requestState: state })
    expect(await given.client.response(3)).toMatchObject({ error: { code: -32_602 } })
    // Asked while the client does not wait: sent with the next retry.
    await arrival.say(ask(9))
    await retry(given, 4, {
      inputResponses: { 'input-2': { action: 'cancel' } },
      requestState: second['requestState'],
    })
    const third = await given.result(4)
    expect(Object.keys(third['inputRequests'] as JsonObject)).toEqual(['input-3'])
    // Answered by the server although the client does not wait: sent with the next retry.
    arrival.answer({ content: [1] })
    await turns()
    await retry(given, 5, { requestState: third['requestState'] })
    expect(await given.result(5)).toMatchObject({ content: [1] })
  })

  it('are asked again when an answer is missing', async () => {
    const given = setUp()
    const { state } = await asked(given, ask(7), ask(8))
    await retry(given, 2, { inputResponses: { 'input-2': { action: 'accept' } }, requestState: state })
    const again = await given.result(2)
    expect(again['inputRequests']).toEqual({
      'input-1': { method: 'elicitation/create', params: formParams },
    })
    await retry(given, 3, { inputResponses: { 'input-1': 'yes' }, requestState: again['requestState'] })
    const third = await given.result(3)
    expect(third).toMatchObject({ inputRequests: { 'input-1': {} } })
    await retry(given, 4, { requestState: third['requestState'] })
    expect(await given.result(4)).toMatchObject({ inputRequests: { 'input-1': {} } })
    expect((await given.session()).answered).toHaveLength(1)
  })

  it('are answered for the same request only', async () => {
    const given = setUp()
    const { state } = await asked(given, ask(7))
    const inputResponses = { 'input-1': { action: 'accept' } }
    const refused = { error: { code: -32_602 } }
    await retry(given, 2, { inputResponses, requestState: state }, { arguments: { x: 2, y: 2 } })
    expect(await given.client.response(2)).toMatchObject(refused)
    await given.send(3, 'prompts/get', { name: 'a', inputResponses, requestState: state })
    expect(await given.client.response(3)).toMatchObject(refused)
    for (const [id, requestState] of [
      [4, 'guess'],
      [5, 7],
      [6, null],
    ] as const) {
      await retry(given, id, { inputResponses, requestState })
      expect(await given.client.response(id)).toMatchObject(refused)
    }
    await retry(given, 7, { inputResponses: [], requestState: state })
    expect(await given.client.response(7)).toMatchObject(refused)
    expect((await given.session()).answered).toEqual([])
    await retry(given, 8, { inputResponses, requestState: state })
    await until(() => given.server.sessions[0]!.answered.length === 1, 'the answer')
  })

  it('expire, and end the call upstream', async () => {
    const given = setUp()
    const { arrival, state } = await asked(given, ask(7))
    await given.clock.advance(590)
    expect(arrival.options.signal!.aborted).toBe(false)
    await given.clock.advance(20)
    expect(arrival.options.signal!.aborted).toBe(true)
    const { answered, notified } = await given.session()
    expect(answered).toMatchObject([{ id: 7, error: { code: -32_603 } }])
    expect(notified).toMatchObject([{ params: { requestId: arrival.message.id } }])
    await retry(given, 2, { requestState: state })
    expect(await given.client.response(2)).toMatchObject({ error: { code: -32_602 } })
  })

  it('are kept for 64 calls', async () => {
    const given = setUp()
    const arrivals: Arrival[] = []
    for (let id = 0; id < 66; id += 1) {
      const arrival = await given.reach(id, 'tools/call', { name: `t${id}` })
      arrivals.push(arrival)
      await arrival.say(ask(1000 + id))
      await given.result(id)
    }
    await turns()
    expect(arrivals.map(({ options }) => options.signal!.aborted).lastIndexOf(true)).toBe(1)
  })

  it('are cancelled with the retry', async () => {
    const given = setUp()
    const { arrival, state } = await asked(given, ask(7), ask(8))
    await retry(given, 2, { inputResponses: { 'input-1': {} }, requestState: state })
    await given.cancel(2)
    await until(() => arrival.options.signal!.aborted, 'the call to end')
    await turns()
    expect(given.client.responses(2)).toEqual([])
    expect((await given.session()).answered.map(({ id }) => id)).toEqual([7, 8])
  })

  it('that the server withdraws are not asked any more', async () => {
    const given = setUp()
    const { arrival, state } = await asked(given, ask(7))
    await arrival.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } })
    await retry(given, 2, { inputResponses: { 'input-1': {} }, requestState: state })
    arrival.answer({ content: [] })
    await given.result(2)
    expect((await given.session()).answered).toEqual([])
  })

  it('whose answer cannot be delivered end the call', async () => {
    const given = setUp()
    const { state } = await asked(given, ask(7))
    const session = await given.session()
    session.answer = () => Promise.reject(new Error('cut'))
    await retry(given, 2, { inputResponses: { 'input-1': {} }, requestState: state })
    expect(await given.client.response(2)).toMatchObject({ error: { message: 'cut' } })
  })

  it.each([
    ['sampling/createMessage', { tools: [] }, { sampling: {} }, { sampling: { tools: {} } }],
    ['elicitation/create', { mode: 'url' }, { elicitation: {} }, { elicitation: { url: {} } }],
  ])('%s %j are -32021 for a client with %j', async (method, params, capabilities, requiredCapabilities) => {
    const given = setUp()
    const arrival = await given.reach(1, 'tools/call', { name: 'a' }, meta(capabilities))
    await arrival.say(ask(7, method, params))
    expect(await given.client.response(1)).toMatchObject({
      error: { code: -32_021, data: { requiredCapabilities } },
    })
    expect((await given.session()).answered).toMatchObject([{ id: 7, error: {} }])
    await until(() => arrival.options.signal!.aborted, 'the call to end')
  })

  it('that no client takes, or on a call that cannot carry them, get an error', async () => {
    const given = setUp()
    await given.send(1, 'tools/call', { name: 'a' })
    await (await given.arrival('tools/call')).say(ask(7, 'com.example/own'))
    await given.send(2, 'tools/list')
    await (await given.arrival('tools/list')).say(ask(8))
    expect((await given.session()).answered).toMatchObject([
      { id: 7, error: { code: -32_601 } },
      { id: 8, error: { code: -32_601 } },
    ])
    expect(given.client.sent).toEqual([])
  })

  it('on the GET stream are carried by the only call, else get an error', async () => {
    const given = setUp()
    await given.send(0, 'server/discover')
    await given.result(0)
    const session = await given.session()
    await session.stand({ jsonrpc: '2.0', id: 'p', method: 'ping' })
    await session.stand(ask('none'))
    expect(session.answered).toMatchObject([
      { id: 'p', result: {} },
      { id: 'none', error: { code: -32_601 } },
    ])
    await given.send(1, 'tools/call', { name: 'a' })
    await session.next('tools/call')
    await given.send(2, 'tools/list')
    await session.next('tools/list')
    await session.stand(ask('one'))
    expect(await given.result(1)).toMatchObject({ resultType: 'input_required' })
    await given.send(3, 'tools/call', { name: 'b' })
    await session.next('tools/call')
    await session.stand(ask('two'))
    expect(session.answered.at(-1)).toMatchObject({ id: 'two', error: { code: -32_601 } })
  })
})

describe('-32042 of the server', () => {
  const data = {
    elicitations: [{ mode: 'url', elicitationId: 'e', url: 'https://x.example', message: 'Go' }],
  }
  const link = {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'Go', url: 'https://x.example' },
  }

  const retryOf = ({ requestState }: JsonObject): JsonObject => ({ name: 'a', requestState })
  async function refused(params: JsonObject = data, _meta?: JsonObject) {
    const given = setUp()
    const first = await given.reach(1, 'tools/call', { name: 'a' }, _meta)
    first.fail(-32_042, 'Open this', params)
    return { ...given, first }
  }

  it('becomes input_required, and the request is sent again', async () => {
    const { first, ...given } = await refused()
    const round = await given.result(1)
    expect(round).toMatchObject({ resultType: 'input_required', inputRequests: { 'input-1': link } })
    const inputResponses = { 'input-1': { action: 'accept' } }
    const second = await given.reach(2, 'tools/call', { ...retryOf(round), inputResponses })
    expect(second.message.id).not.toBe(first.message.id)
    second.answer({ content: [] })
    expect(await given.result(2)).toMatchObject({ resultType: 'complete' })
    expect((await given.session()).answered).toEqual([])
  })

  it('with two URLs asks again for the one that was not answered', async () => {
    const elicitations = [...data.elicitations, { ...data.elicitations[0], url: 'https://y.example' }]
    const given = await refused({ elicitations })
    const accepted = { action: 'accept' }
    const first = retryOf(await given.result(1))
    await given.send(2, 'tools/call', { ...first, inputResponses: { 'input-2': accepted } })
    const second = await given.result(2)
    expect(second['inputRequests']).toEqual({ 'input-1': link })
    const retry = { ...retryOf(second), inputResponses: { 'input-1': accepted } }
    ;(await given.reach(3, 'tools/call', retry)).answer({ content: [] })
    await given.result(3)
    expect((await given.session()).all).toHaveLength(2)
  })

  it('cancels nothing when the client does not come back', async () => {
    const given = await refused()
    await given.result(1)
    await given.clock.advance(700)
    expect((await given.session()).notified).toEqual([])
  })

  it('that is declined ends the call', async () => {
    const given = await refused()
    const inputResponses = { 'input-1': { action: 'decline' } }
    await given.send(2, 'tools/call', { ...retryOf(await given.result(1)), inputResponses })
    expect(await given.client.response(2)).toMatchObject({ error: { code: -32_603, message: 'Open this' } })
  })

  it('without a client that opens URLs is -32021', async () => {
    const given = await refused(data, meta({ elicitation: {} }))
    expect(await given.client.response(1)).toMatchObject({
      error: { code: -32_021, data: { requiredCapabilities: { elicitation: { url: {} } } } },
    })
  })
})

describe('subscriptions/listen', () => {
  const tag = (id: JsonRpcId) => ({ [mcpMetaKey.subscriptionId]: id })
  const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } as const
  const updated = (uri: string) =>
    ({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } }) as const
  const listen = (given: ReturnType<typeof setUp>, id: JsonRpcId, notifications: unknown) =>
    given.send(id, 'subscriptions/listen', { notifications })

  it('acknowledges what is honoured first, and tags what follows', async () => {
    const given = setUp()
    await listen(given, 'l', { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: [] })
    await until(() => given.client.sent.length === 1, 'the acknowledgement')
    const session = await given.session()
    await session.stand({ ...changed, params: { _meta: { own: 1 } } })
    await session.stand({ jsonrpc: '2.0', method: 'notifications/resources/list_changed' })
    expect(given.client.sent).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true }, _meta: tag('l') },
      },
      { ...changed, params: { _meta: { own: 1, ...tag('l') } } },
    ])
    await given.cancel('l')
    await session.stand(changed)
    await turns()
    expect(given.client.sent).toHaveLength(2)
  })

  it('subscribes to resources once, and leaves with the last who listens', async () => {
    const given = setUp()
    await listen(given, 1, { resourceSubscriptions: ['x:1', 'x:1', 'x:no'] })
    const subscribe = await given.arrival('resources/subscribe')
    const refused = await given.arrival('resources/subscribe')
    expect([subscribe, refused].map(({ message }) => message.params)).toEqual([
      { uri: 'x:1' },
      { uri: 'x:no' },
    ])
    const session = await given.session()
    await session.stand(updated('x:1'))
    expect(given.client.sent).toEqual([])
    refused.fail(-32_602, 'No')
    subscribe.answer({})
    await until(() => given.client.sent.length === 2, 'the acknowledgement and the early notice')
    expect(given.client.sent).toMatchObject([
      { params: { notifications: { resourceSubscriptions: ['x:1'] } } },
      { method: 'notifications/resources/updated', params: { uri: 'x:1', _meta: tag(1) } },
    ])
    await listen(given, 2, { resourceSubscriptions: ['x:1'], toolsListChanged: true })
    await until(() => given.client.sent.length === 3, 'the second acknowledgement')
    await session.stand(updated('x:1/part'))
    await session.stand(updated('x:11'))
    await session.stand(changed)
    expect(given.client.sent.slice(3)).toMatchObject([
      { params: { uri: 'x:1/part', _meta: tag(1) } },
      { params: { uri: 'x:1/part', _meta: tag(2) } },
      { method: changed.method, params: { _meta: tag(2) } },
    ])
    const count = () => session.all.filter(({ message }) => message.method === 'resources/unsubscribe').length
    await given.cancel(1)
    await turns()
    expect(count()).toBe(0)
    await given.cancel(2)
    await until(() => count() === 1, 'to unsubscribe')
    expect(session.all).toHaveLength(3)
  })

  it('ends at once if there is nothing to listen for', async () => {
    const given = setUp({})
    await listen(given, 1, { toolsListChanged: true, resourceSubscriptions: ['x:1'] })
    expect(await given.result(1)).toEqual({ resultType: 'complete', _meta: { ...tag(1), ...serverInfo } })
    expect(given.client.sent[0]).toMatchObject({ params: { notifications: {} } })
  })

  it('can be cancelled before it is acknowledged', async () => {
    const given = setUp()
    await listen(given, 1, { resourceSubscriptions: ['x:1'] })
    const subscribe = await given.arrival('resources/subscribe')
    await given.cancel(1)
    subscribe.answer({})
    await given.arrival('resources/unsubscribe')
    expect(given.client.sent).toEqual([])
  })

  it('refuses what is no filter', async () => {
    const given = setUp()
    await listen(given, 1, { toolsListChanged: 1 })
    expect(await given.client.response(1)).toMatchObject({ error: { code: -32_602 } })
  })

  it('is for 64 at a time', async () => {
    const given = setUp()
    for (let id = 0; id < 65; id += 1) await listen(given, id, { toolsListChanged: true })
    expect(await given.client.response(64)).toMatchObject({ error: { code: -32_603 } })
    await given.cancel(3)
    await listen(given, 'more', { toolsListChanged: true })
    await until(() => given.client.notifications().length === 65, 'the last acknowledgement')
  })
})

describe('close', () => {
  it('does not wait for a session that still opens, and closes it when it is there', async () => {
    const given = setUp()
    const gate = createSignal()
    const open = given.server.open.bind(given.server)
    given.server.open = async (...parameters) => {
      await gate.given
      return open(...parameters)
    }
    await given.send(1, 'tools/call', { name: 'a' })
    await given.adapter.close()
    gate.give()
    const session = await given.session()
    await until(session.isClosed, 'the session to close')
    expect(given.client.sent).toEqual([])
    expect(session.all).toEqual([])
  })

  it('ends sessions and calls, and sends nothing more', async () => {
    const given = setUp()
    const pending = await given.reach(1, 'tools/call', { name: 'a' })
    await pending.say({ jsonrpc: '2.0', id: 7, method: 'roots/list' })
    await given.result(1)
    const running = await given.reach(2, 'tools/call', { name: 'b' })
    await given.send(3, 'subscriptions/listen', { notifications: { toolsListChanged: true } })
    await turns()
    const sent = given.client.sent.length
    await given.adapter.close()
    await given.adapter.close()
    const session = await given.session()
    running.answer({})
    await session.stand({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    await session.stand({ jsonrpc: '2.0', id: 9, method: 'ping' })
    await given.send(4, 'tools/list')
    await given.clock.advance(1000)
    expect(session.isClosed()).toBe(true)
    expect(session.answered.map(({ id }) => id)).toEqual([7])
    expect([pending, running].map(({ options }) => options.signal!.aborted)).toEqual([true, true])
    expect(given.client.sent).toHaveLength(sent)
    expect(given.server.sessions).toHaveLength(1)
  })
})
