import { describe, expect, it } from 'vitest'
import {
  isNestedDeeply,
  parseWireMessage,
  readMessage,
  readMessageText,
  requestIds,
  splitBatch,
  toWireMessage,
} from './json-rpc.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('readMessage', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"method":"a"}', { kind: 'request', id: 1, method: 'a' }],
    ['{"jsonrpc":"2.0","id":"x","method":"a","params":{}}', { kind: 'request', id: 'x', method: 'a' }],
    ['{"method":"a","jsonrpc":"2.0"}', { kind: 'notification', method: 'a' }],
    ['{"jsonrpc":"2.0","id":1.5,"result":null}', { kind: 'response', id: 1.5, isError: false }],
    ['{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}', { kind: 'response', id: 2, isError: true }],
    ['{"jsonrpc":"2.0","result":{"id":3,"method":"x"},"id":4}', { kind: 'response', id: 4, isError: false }],
    ['{"jsonrpc":"2.0","id":1,"method":"a","id":2,"method":"b"}', { kind: 'request', id: 2, method: 'b' }],
    [
      String.raw`{"jsonrpc":"2.0","\u0069d":7,"m\u0065thod":"\u0061"}`,
      { kind: 'request', id: 7, method: 'a' },
    ],
    ['[]', { kind: 'batch' }],
    [' [1,{}] ', { kind: 'batch' }],
    ['{"jsonrpc":"2.0","id":null,"method":"a"}', { kind: 'invalid', id: undefined }],
    ['{"jsonrpc":"2.0","id":1e999,"method":"a"}', { kind: 'invalid', id: undefined }],
    ['{"jsonrpc":"2.0","id":8,"method":"a","params":[]}', { kind: 'invalid', id: 8 }],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}', { kind: 'invalid', id: undefined }],
    ['"text"', { kind: 'invalid', id: undefined }],
    ['', { kind: 'invalid', id: undefined, reason: 'not valid JSON in UTF-8' }],
    ['{', { kind: 'invalid', id: undefined, reason: 'not valid JSON in UTF-8' }],
    ['{"jsonrpc":"2.0","method":"a\nb"}', { kind: 'invalid', reason: 'not valid JSON in UTF-8' }],
    ['\u{feff}{"jsonrpc":"2.0","method":"a"}', { kind: 'invalid', reason: 'not valid JSON in UTF-8' }],
  ])('%s', (text, expected) => {
    expect(readMessage(bytes(text)).envelope).toMatchObject(expected)
    expect(readMessageText(text).envelope).toMatchObject(expected)
  })

  it('takes no invalid UTF-8, small or large', () => {
    for (const length of [10, 100_000]) {
      const text = bytes(`{"jsonrpc":"2.0","id":1,"method":"${'a'.repeat(length)}"}`)
      expect(readMessage(text).envelope.kind).toBe('request')
      text[text.length - 4] = 0xff
      expect(readMessage(text).envelope).toMatchObject({ kind: 'invalid', reason: 'not valid JSON in UTF-8' })
    }
  })

  it('finds the id of a large message at its end, however deep the rest is nested', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    const text = `{"jsonrpc":"2.0","result":{"id":1,"x":${deep}},"id":99}`
    expect(readMessageText(text).envelope).toEqual({ kind: 'response', id: 99, isError: false })
    expect(readMessageText(text.replace(']]', '],]')).envelope.kind).toBe('invalid')
  })

  it('makes line ends between tokens spaces, so that the message is one line', () => {
    const { text } = readMessageText('{"jsonrpc":"2.0",\r\n"method":"a"\n}')
    expect(text).toBe('{"jsonrpc":"2.0",  "method":"a" }')
  })
})

describe('batch', () => {
  it('becomes its messages, of which some may be invalid', () => {
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

  it('is empty beyond ten thousand messages', () => {
    expect(splitBatch(readMessageText(`[${'1,'.repeat(10_000)}1]`))).toEqual([])
  })
})

describe('wire messages', () => {
  it('come back as they went', () => {
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

  it('throw when they are none', () => {
    expect(() => parseWireMessage(readMessageText('[]'))).toThrow('batch')
    expect(() => parseWireMessage(readMessageText('{}'))).toThrow('jsonrpc')
  })
})

describe('nesting', () => {
  it('is deep beyond a thousand levels', () => {
    expect(isNestedDeeply({ text: '['.repeat(1000) + ']'.repeat(1000) })).toBe(false)
    expect(isNestedDeeply({ text: '['.repeat(1001) + ']'.repeat(1001) })).toBe(true)
  })
})
