import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { toWireMessage, type JsonRpcMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { isSessionLost, openedSession, SessionState } from './session.ts'

const withId = (id: string | string[] | undefined): HttpResponse => ({
  url: 'https://mcp.example/mcp',
  status: 200,
  headers: { 'mcp-session-id': id },
  body: Readable.from([]),
})
const result = (value: object, id = 1): WireMessage => toWireMessage({ jsonrpc: '2.0', id, result: value })

it.each([
  ['abc', 'abc'],
  ['a b\tc~', 'a b\tc~'],
  ['', undefined],
  [undefined, undefined],
])('the session id %j is sent back as %j', (id, sent) => {
  expect(openedSession(withId(id), undefined).id).toBe(sent)
})

it.each(['sch\u00F6n', 'a\u007F'])('the session id %j is refused: it cannot be sent back', (id) => {
  const refusal = expect.objectContaining({ fault: 'refused', status: 200 })
  expect(() => openedSession(withId(id), undefined)).toThrow(refusal)
})

it.each<[what: string, id: string | string[] | undefined, answer: WireMessage | undefined, headers: object]>([
  [
    'both are sent from then on',
    's1',
    result({ protocolVersion: '2025-11-25' }),
    { 'MCP-Session-Id': 's1', 'MCP-Protocol-Version': '2025-11-25' },
  ],
  [
    'without an id',
    undefined,
    result({ protocolVersion: '2025-11-25' }),
    { 'MCP-Protocol-Version': '2025-11-25' },
  ],
  [
    'with an empty one',
    '',
    result({ protocolVersion: '2025-11-25' }),
    { 'MCP-Protocol-Version': '2025-11-25' },
  ],
  ['without a revision', 's1', result({}), { 'MCP-Session-Id': 's1' }],
  ['with a revision that is no text', 's1', result({ protocolVersion: 7 }), { 'MCP-Session-Id': 's1' }],
  [
    'with one that no header can hold',
    's1',
    result({ protocolVersion: 'a\r\nb: c' }),
    { 'MCP-Session-Id': 's1' },
  ],
  [
    'with one that is too long',
    's1',
    result({ protocolVersion: 'a'.repeat(65) }),
    { 'MCP-Session-Id': 's1' },
  ],
  [
    'with a long one',
    's1',
    result({ protocolVersion: 'a'.repeat(64) }),
    { 'MCP-Session-Id': 's1', 'MCP-Protocol-Version': 'a'.repeat(64) },
  ],
  ['without an answer', 's1', undefined, { 'MCP-Session-Id': 's1' }],
])('an opened session sends the id and the revision that it was given: %s', (_what, id, answer, headers) => {
  const lower = (of: object): object =>
    Object.fromEntries(Object.entries(of).map(([name, value]) => [name.toLowerCase(), value as unknown]))
  const opened = openedSession(withId(id), answer)
  expect(lower(opened.headers)).toEqual(lower(headers))
  expect(opened.id).toBe(id === '' ? undefined : id)
})

const unknownMethod = toWireMessage({ jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'no' } })
it.each<[status: number, text: string, answer: WireMessage | undefined, lost: boolean]>([
  [404, '', undefined, true],
  [404, '', toWireMessage({ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'no' } }), true],
  [404, '', unknownMethod, false],
  [400, 'No valid session ID provided', undefined, true],
  [400, 'Bad Request', undefined, false],
  [400, 'Bad Request', unknownMethod, false],
  [500, 'session', undefined, false],
  [403, '', undefined, false],
])('a session is lost with %i %j: %#', (status, text, answer, lost) => {
  const refused = { status, text, answer, error: undefined }
  expect(isSessionLost(refused, { id: 's1', headers: {} })).toBe(lost)
  expect(isSessionLost(refused, { id: undefined, headers: {} })).toBe(false)
})

describe('the messages replayed in a new session', () => {
  const told: string[] = []
  const request = (method: string, params?: object): WireMessage =>
    toWireMessage({ jsonrpc: '2.0', id: 1, method, ...(params && { params: params as never }) })
  const parsed = ({ text }: WireMessage): JsonRpcMessage => JSON.parse(text) as JsonRpcMessage

  async function send(
    state: SessionState,
    message: WireMessage,
    answer: WireMessage = result({}),
  ): Promise<number> {
    let delivered = 0
    const signal = new AbortController().signal
    const context = state.recording(message, { signal, deliver: () => void (delivered += 1) } as never)
    await (context as { deliver(answer: WireMessage): unknown }).deliver(answer)
    return delivered
  }
  const create = (): SessionState => {
    told.length = 0
    return new SessionState(
      ({ envelope }) => void (envelope.kind === 'request' && told.push(envelope.method)),
    )
  }

  it('a new session gets initialize, the log level and the subscriptions, under new ids', async () => {
    const state = create()
    expect(state.opening()).toBeUndefined()
    expect(await send(state, request('initialize', { protocolVersion: '2025-11-25' }))).toBe(1)
    await send(state, request('logging/setLevel', { level: 'info' }))
    await send(state, request('logging/setLevel', { level: 'debug' }))
    for (const uri of ['a', 'b', 'c']) await send(state, request('resources/subscribe', { uri }))
    await send(state, request('resources/unsubscribe', { uri: 'b' }))
    const opening = state.opening()
    if (opening === undefined) throw new Error('There is no session to open.')
    const { initialize, initialized } = opening
    expect(parsed(initialize)).toEqual({
      jsonrpc: '2.0',
      id: 'drawbridge-replay-1',
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    })
    expect(parsed(initialized)).toEqual({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(state.choices().map(parsed)).toEqual([
      { jsonrpc: '2.0', id: 'drawbridge-replay-2', method: 'logging/setLevel', params: { level: 'debug' } },
      { jsonrpc: '2.0', id: 'drawbridge-replay-3', method: 'resources/subscribe', params: { uri: 'a' } },
      { jsonrpc: '2.0', id: 'drawbridge-replay-4', method: 'resources/subscribe', params: { uri: 'c' } },
    ])
    expect(told).toEqual(['initialize'])
    state.restart()
    expect(state.choices()).toEqual([])
    expect(state.opening()).toBeDefined()
  })

  it('a new session gets nothing that was refused or concerns no session', async () => {
    const state = create()
    const no = toWireMessage({ jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'no' } })
    expect(await send(state, request('initialize'), no)).toBe(1)
    await send(state, request('resources/subscribe', { uri: 'a' }), no)
    await send(
      state,
      request('resources/subscribe', { uri: 'a' }),
      toWireMessage({ jsonrpc: '2.0', method: 'x' }),
    )
    await send(state, request('tools/call', { uri: 'a' }))
    await send(state, toWireMessage({ jsonrpc: '2.0', method: 'initialize' }))
    expect([state.opening(), state.choices(), told]).toEqual([undefined, [], []])
    await send(state, request('tools/list'))
    expect(told).toEqual(['tools/list'])
    expect(state.choices()).toEqual([])
  })
})
