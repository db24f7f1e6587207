import { describe, expect, it, test } from 'vitest'
import {
  isNestedDeeply,
  jsonRpcCode,
  jsonRpcError,
  parseJsonRpcMessage,
  parseWireMessage,
  readMessage,
  addressed,
  type JsonRpcId,
  readMessageText,
  requestIds,
  splitBatch,
  toWireMessage,
} from './json-rpc.ts'

const parseText = (text: string): ReturnType<typeof parseJsonRpcMessage> =>
  parseJsonRpcMessage(JSON.parse(text))

test.each<[string, unknown, string]>([
  ['a request', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, 'request'],
  ['a request with a string id', { jsonrpc: '2.0', id: 'a', method: 'x', params: {} }, 'request'],
  ['the empty id is an id', { jsonrpc: '2.0', id: '', method: 'x' }, 'request'],
  ['a fractional id is echoed too', { jsonrpc: '2.0', id: 1.5, method: 'x' }, 'request'],
  ['an empty method is the dispatcher’s to refuse', { jsonrpc: '2.0', id: 1, method: '' }, 'request'],
  ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, 'notification'],
  ['a result', { jsonrpc: '2.0', id: 1, result: {} }, 'response'],
  ['a null result', { jsonrpc: '2.0', id: 1, result: null }, 'response'],
  ['an error', { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'no' } }, 'response'],
  ['an error with id null', { jsonrpc: '2.0', id: null, error: { code: 1, message: '' } }, 'response'],
  ['an error without id', { jsonrpc: '2.0', error: { code: 1, message: '' } }, 'response'],
  ['unknown members', { jsonrpc: '2.0', id: 1, method: 'x', extra: true }, 'request'],
])('a valid message (JSON-RPC 2.0 sections 4 and 5): %s', (_rule, value, kind) => {
  const parsed = parseJsonRpcMessage(value)
  expect(parsed.kind).toBe(kind)
  // The very same object, so that a proxy forwards what it was given.
  expect(parsed.kind !== 'invalid' && parsed.message).toBe(value)
})

describe('invalid messages', () => {
  test.each<[string, unknown, string | number | null, RegExp]>([
    ['a batch (removed in MCP 2025-06-18)', [{ jsonrpc: '2.0', id: 1, method: 'x' }], null, /batch/],
    ['null', null, null, /object/],
    ['a number', 7, null, /object/],
    ['no version', { id: 1, method: 'x' }, 1, /jsonrpc/],
    ['version 1.0', { jsonrpc: '1.0', id: 1, method: 'x' }, 1, /jsonrpc/],
    ['nothing but an id', { jsonrpc: '2.0', id: 1 }, 1, /expected/],
    [
      'result and error',
      { jsonrpc: '2.0', id: 1, result: 1, error: { code: 1, message: '' } },
      1,
      /expected/,
    ],
    ['method and result', { jsonrpc: '2.0', id: 1, method: 'x', result: 1 }, 1, /neither/],
    ['method and error', { jsonrpc: '2.0', id: 1, method: 'x', error: {} }, 1, /neither/],
    ['a method that is not a string', { jsonrpc: '2.0', id: 'a', method: 1 }, 'a', /method/],
    ['positional params (MCP: an object)', { jsonrpc: '2.0', id: 1, method: 'x', params: [1] }, 1, /params/],
    ['text params', { jsonrpc: '2.0', method: 'x', params: 'a' }, null, /params/],
    ['a null id (MCP: never)', { jsonrpc: '2.0', id: null, method: 'x' }, null, /id/],
    ['a boolean id', { jsonrpc: '2.0', id: true, method: 'x' }, null, /id/],
    ['an infinite id', { jsonrpc: '2.0', id: Infinity, method: 'x' }, null, /id/],
    ['a result without id', { jsonrpc: '2.0', result: {} }, null, /id/],
    ['an error with a boolean id', { jsonrpc: '2.0', id: true, error: { code: 1, message: '' } }, null, /id/],
    ['an error that is text', { jsonrpc: '2.0', id: 1, error: 'no' }, 1, /code/],
    ['an error of a fraction', { jsonrpc: '2.0', id: 1, error: { code: 1.5, message: '' } }, 1, /code/],
    ['an error without message', { jsonrpc: '2.0', id: 1, error: { code: 1 } }, 1, /message/],
  ])('an invalid message: %s', (_rule, value, id, reason) => {
    const parsed = parseJsonRpcMessage(value)
    expect(parsed).toMatchObject({ kind: 'invalid', id })
    expect(parsed.kind === 'invalid' && parsed.reason).toMatch(reason)
  })

  test('members of a __proto__ member do not count', () => {
    expect(parseText('{"__proto__":{"jsonrpc":"2.0","id":1,"method":"x"}}').kind).toBe('invalid')
    expect(parseText('{"jsonrpc":"2.0","id":1,"__proto__":{"method":"x"}}').kind).toBe('invalid')
  })
})

test.each([
  ['without data', undefined, { code: -32_700, message: 'no JSON' }],
  ['with data', { a: 1 }, { code: -32_700, message: 'no JSON', data: { a: 1 } }],
  ['null is data', null, { code: -32_700, message: 'no JSON', data: null }],
])('jsonRpcError: %s', (_rule, data, error) => {
  const answer = jsonRpcError(null, jsonRpcCode.parseError, 'no JSON', data)
  expect(answer).toStrictEqual({ jsonrpc: '2.0', id: null, error })
  expect(parseJsonRpcMessage(answer).kind).toBe('response')
})

const bytes = (text: string) => new TextEncoder().encode(text)

it.each([
  ['{"jsonrpc":"2.0","id":1,"method":"a"}', { kind: 'request', id: 1, method: 'a' }],
  ['{"jsonrpc":"2.0","id":"x","method":"a","params":{}}', { kind: 'request', id: 'x', method: 'a' }],
  ['{"method":"a","jsonrpc":"2.0"}', { kind: 'notification', method: 'a' }],
  ['{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}', { kind: 'response', id: 2, isError: true }],
  ['{"jsonrpc":"2.0","result":{"id":3,"method":"x"},"id":4}', { kind: 'response', id: 4, isError: false }],
  ['{"jsonrpc":"2.0","id":1,"method":"a","id":2,"method":"b"}', { kind: 'request', id: 2, method: 'b' }],
  [String.raw`{"jsonrpc":"2.0","\u0069d":7,"m\u0065thod":"\u0061"}`, { kind: 'request', id: 7, method: 'a' }],
  [' [1,{}] ', { kind: 'batch' }],
  ['{"jsonrpc":"2.0","id":1e999,"method":"a"}', { kind: 'invalid', id: null }],
  ['{"jsonrpc":"2.0","id":8,"method":"a","params":[]}', { kind: 'invalid', id: 8 }],
  ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}', { kind: 'invalid', id: null }],
  ['', { kind: 'invalid', id: null, reason: 'not valid JSON in UTF-8' }],
  ['{"jsonrpc":"2.0","method":"a\nb"}', { kind: 'invalid', reason: 'not valid JSON in UTF-8' }],
])('readMessage: %s', (text, expected) => {
  expect(readMessage(bytes(text)).envelope).toMatchObject(expected)
  expect(readMessageText(text).envelope).toMatchObject(expected)
})

it('readMessage drops a byte order mark', () => {
  const { envelope, text } = readMessage(bytes('\u{feff}{"jsonrpc":"2.0","method":"a"}'))
  expect([envelope.kind, text]).toEqual(['notification', '{"jsonrpc":"2.0","method":"a"}'])
})

it('readMessage rejects invalid UTF-8, in small and large messages', () => {
  for (const length of [10, 100_000]) {
    const text = bytes(`{"jsonrpc":"2.0","id":1,"method":"${'a'.repeat(length)}"}`)
    expect(readMessage(text).envelope.kind).toBe('request')
    text[text.length - 4] = 0xff
    expect(readMessage(text).envelope).toMatchObject({ kind: 'invalid', reason: 'not valid JSON in UTF-8' })
  }
})

it('readMessage finds the id at the end of a large message, however deeply the rest is nested', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000)
  const text = `{"jsonrpc":"2.0","result":{"id":1,"x":${deep}},"id":99}`
  expect(readMessageText(text).envelope).toEqual({ kind: 'response', id: 99, isError: false })
  expect(readMessageText(text.replace(']]', '],]')).envelope.kind).toBe('invalid')
})

it('readMessage turns line breaks between tokens into spaces, so that the message is one line', () => {
  const { text } = readMessageText('{"jsonrpc":"2.0",\r\n"method":"a"\n}')
  expect(text).toBe('{"jsonrpc":"2.0",  "method":"a" }')
})

it('a batch is split into its messages, of which some may be invalid', () => {
  const batch = readMessageText(
    '[ {"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0", "method":"b"},7,[{}]]',
  )
  const parts = splitBatch(batch)
  expect(parts.map(({ text }) => text)).toEqual([
    '{"jsonrpc":"2.0","id":1,"method":"a"}',
    '{"jsonrpc":"2.0","method":"b"}',
    '7',
    '[{}]',
  ])
  expect(parts.map((part) => part.envelope.kind)).toEqual(['request', 'notification', 'invalid', 'invalid'])
  expect(requestIds(batch).size).toBe(1)
})

it('a batch of more than ten thousand messages counts as empty', () => {
  expect(splitBatch(readMessageText(`[${'1,'.repeat(10_000)}1]`))).toEqual([])
})

describe('wire messages', () => {
  it('a wire message parses to the message that it was made of', () => {
    const message = {
      jsonrpc: '2.0' as const,
      id: 'ü',
      method: 'a',
      params: { text: 'line\nend', extra: [1] },
    }
    const wire = toWireMessage(message)
    expect(wire.envelope).toEqual({ kind: 'request', id: 'ü', method: 'a' })
    expect(wire.text).not.toContain('\n')
    expect(parseWireMessage(wire)).toEqual(message)
  })

  it('parsing an invalid wire message throws', () => {
    expect(() => parseWireMessage(readMessageText('[]'))).toThrow('batch')
    expect(() => parseWireMessage(readMessageText('{}'))).toThrow('jsonrpc')
  })
})

it('a message counts as deeply nested beyond a thousand levels', () => {
  expect(isNestedDeeply({ text: '['.repeat(1000) + ']'.repeat(1000) })).toBe(false)
  expect(isNestedDeeply({ text: '['.repeat(1001) + ']'.repeat(1001) })).toBe(true)
})

const addressedTo = (text: string, ...ids: JsonRpcId[]): unknown =>
  addressed(readMessage(Buffer.from(text)), new Set(ids))
const result = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"a":9007199254740993}}`
const error = (id: string): string =>
  `{"jsonrpc":"2.0",${id}"error":{"code":-32602,"message":"m","data":[1]}}`

describe('addressed: a response', () => {
  it.each<[what: string, text: string, waiting: JsonRpcId[], id: JsonRpcId]>([
    ['with its id', result('7'), [7], 7],
    ['with its id, beside a request whose id is the number of it', result('"7"'), [7, '7'], '7'],
    ['with the number of its id as text', result('"7"'), [7, 8], 7],
    ['with a negative number as text', result('"-1"'), [-1], -1],
    ['that is an error with id null', error('"id":null,'), [7], 7],
    ['that is an error without an id', error(''), ['a'], 'a'],
    ['that is an error with its id as text', error('"id":"7",'), [7], 7],
  ])('a response %s belongs to the request', (_what, text, waiting, id) => {
    expect(addressedTo(text, ...waiting)).toMatchObject({ envelope: { kind: 'response', id } })
    const { text: passed } = addressedTo(text, ...waiting) as { text: string }
    const { id: _, ...rest } = JSON.parse(text)
    expect(JSON.parse(passed)).toEqual({ ...rest, id })
  })

  it.each<[what: string, text: string, waiting: JsonRpcId[]]>([
    ['with the number of an id that is a text', result('7'), ['7']],
    ['with another spelling of the number', result('"7.0"'), [7]],
    ['with a text that is no number', result('""'), [0]],
    ['that is an error without an id while two wait', error('"id":null,'), [7, 8]],
    ['that is an error without an id while none waits', error('"id":null,'), []],
    ['that is a result without an id', '{"jsonrpc":"2.0","id":null,"result":{}}', [7]],
    ['that is not JSON', '{"error":{"code":1,"message":"m"}', [7]],
    ['whose error has no code', '{"jsonrpc":"2.0","id":null,"error":{"message":"m"}}', [7]],
  ])('a response %s is left as it is', (_what, text, waiting) => {
    expect(addressedTo(text, ...waiting)).toEqual(readMessage(Buffer.from(text)))
  })
})
