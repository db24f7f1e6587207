import { isUtf8 } from 'node:buffer'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitBatch, requestIds } from './batch.ts'
import { parseEnvelope, parseWireMessage, readEnvelope, scanEnvelope, toWireMessage } from './envelope.ts'
import { membersOf, scanJson } from './json-scan.ts'

const bytes = (text: string): Buffer => Buffer.from(text)

describe('readEnvelope', () => {
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
    ['{"jsonrpc":"2.0","id":true,"method":"a"}', { kind: 'invalid', id: undefined }],
    ['{"jsonrpc":"2.0","id":1e999,"method":"a"}', { kind: 'invalid', id: undefined }],
    ['{"jsonrpc":"1.0","id":8,"method":"a"}', { kind: 'invalid', id: 8 }],
    ['{"jsonrpc":"2.0","id":8,"method":"a","params":[]}', { kind: 'invalid', id: 8 }],
    ['{"jsonrpc":"2.0","id":8,"result":1,"error":{"code":1,"message":""}}', { kind: 'invalid', id: 8 }],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}', { kind: 'invalid', id: undefined }],
    ['"text"', { kind: 'invalid', id: undefined }],
    ['7', { kind: 'invalid', id: undefined }],
    ['', { kind: 'invalid', id: undefined, reason: 'not valid JSON in UTF-8' }],
    ['{', { kind: 'invalid', id: undefined, reason: 'not valid JSON in UTF-8' }],
    ['{"jsonrpc":"2.0","method":"a\nb"}', { kind: 'invalid', reason: 'not valid JSON in UTF-8' }],
    ['\u{feff}{"jsonrpc":"2.0","method":"a"}', { kind: 'invalid', reason: 'not valid JSON in UTF-8' }],
  ])('%s', (text, expected) => {
    expect(parseEnvelope(bytes(text))).toMatchObject(expected)
    expect(scanEnvelope(bytes(text))).toMatchObject(expected)
    expect(readEnvelope(bytes(text))).toMatchObject(expected)
  })

  it('takes no invalid UTF-8, small or large', () => {
    for (const length of [10, 100_000]) {
      const text = bytes(`{"jsonrpc":"2.0","id":1,"method":"${'a'.repeat(length)}"}`)
      expect(readEnvelope(text).kind).toBe('request')
      text[text.length - 4] = 0xff
      expect(readEnvelope(text)).toMatchObject({ kind: 'invalid', reason: 'not valid JSON in UTF-8' })
    }
  })

  it('finds the id of a large message at its end, however deep the rest is nested', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    const text = `{"jsonrpc":"2.0","result":{"id":1,"x":${deep}},"id":99}`
    expect(readEnvelope(bytes(text))).toEqual({ kind: 'response', id: 99, isError: false })
    expect(readEnvelope(bytes(text.replace(']]', '],]'))).kind).toBe('invalid')
  })

  it('says the same about anything by scanning and by parsing', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(scanEnvelope(text)).toEqual(parseEnvelope(text))
      }),
      { numRuns: 3000 },
    )
  })
})

describe('scanJson', () => {
  it('takes exactly what JSON.parse takes, also text that was damaged', () => {
    fc.assert(
      fc.property(damaged(fc.json({ maxDepth: 4 })), (text) => {
        fc.pre(isUtf8(text))
        let isJson = true
        try {
          JSON.parse(text.toString('utf8'))
        } catch {
          isJson = false
        }
        expect(scanJson(text, () => true)).toBe(isJson)
      }),
      { numRuns: 3000 },
    )
  })

  it.each([
    '01',
    '1.',
    '.5',
    '1e',
    '1e+',
    '-',
    '+1',
    '0x1',
    'tru',
    'nul',
    'truex',
    '"\\x"',
    '"\\u12g4"',
    '"\t"',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    '{"a"}',
    '1 2',
    '[1}',
    '"',
  ])('refuses %s', (text) => {
    expect(scanJson(bytes(text), () => true)).toBe(false)
  })

  it('sees everything in long strings too, wherever it stands', () => {
    for (const length of [10, 300, 700]) {
      for (const odd of [
        '\u0001',
        '\n',
        '\\',
        '"',
        String.raw`\"`,
        String.raw`\u00e4`,
        String.raw`\x`,
        'ä',
      ]) {
        for (let at = 0; at < length; at += 7) {
          const text = bytes(`["${'a'.repeat(at)}${odd}${'b'.repeat(length - at)}",1]`)
          expect(scanEnvelope(text), `${JSON.stringify(odd)} at ${at}`).toEqual(parseEnvelope(text))
        }
      }
    }
  })

  it('needs no more time for each byte of a string full of backslashes', () => {
    const text = bytes(`["${`${'a'.repeat(300)}${String.raw`\n`}`.repeat(100_000)}"]`)
    const before = process.cpuUsage()
    expect(scanJson(text, () => true)).toBe(true)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000)
  })

  it('reads the members of an object, of a repeated one the last', () => {
    const found = membersOf(bytes(String.raw`{"a": 1, "b" :{"a":2}, "\u0061": [ 3 ] ,"c":0}`), ['a', 'b'])
    expect([...found].map(([name, value]) => [name, value.toString()])).toEqual([
      ['a', '[ 3 ]'],
      ['b', '{"a":2}'],
    ])
    expect(membersOf(bytes('[1]'), ['a']).size).toBe(0)
  })
})

describe('batch', () => {
  it('keeps each message as it was written', () => {
    const text = '[ {"jsonrpc":"2.0","id":9007199254740993,"method":"a"},{"jsonrpc":"2.0", "method":"b"},7]'
    const parts = splitBatch({ bytes: bytes(text), envelope: readEnvelope(bytes(text)) })
    expect(parts.map((part) => part.bytes.toString())).toEqual([
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}',
      '{"jsonrpc":"2.0", "method":"b"}',
      '7',
    ])
    expect(parts.map((part) => part.envelope.kind)).toEqual(['request', 'notification', 'invalid'])
    expect(requestIds({ bytes: bytes(text), envelope: { kind: 'batch' } }).size).toBe(1)
  })

  it('is empty beyond ten thousand messages', () => {
    const text = bytes(`[${'1,'.repeat(10_000)}1]`)
    expect(splitBatch({ bytes: text, envelope: { kind: 'batch' } })).toEqual([])
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
    expect(wire.bytes.includes(10)).toBe(false)
    expect(parseWireMessage(wire)).toEqual(message)
  })

  it('throw when they are none', () => {
    expect(() => parseWireMessage({ bytes: bytes('[]'), envelope: { kind: 'batch' } })).toThrow('batch')
    expect(() => parseWireMessage({ bytes: bytes('{}'), envelope: readEnvelope(bytes('{}')) })).toThrow(
      'jsonrpc',
    )
  })
})

/** Messages, near misses, and damage. */
function anyText(): fc.Arbitrary<Buffer> {
  const id = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.string({ unit: 'binary' }),
    fc.constant(null),
    fc.boolean(),
  )
  const inner = fc.record({ id, method: fc.string(), jsonrpc: fc.string(), result: fc.jsonValue() })
  const member = fc.oneof(
    fc.tuple(
      fc.constant('jsonrpc'),
      fc.oneof({ weight: 8, arbitrary: fc.constant('2.0') }, { weight: 1, arbitrary: fc.jsonValue() }),
    ),
    fc.tuple(fc.constant('id'), id),
    fc.tuple(fc.constant('method'), fc.oneof(fc.string(), fc.integer())),
    fc.tuple(fc.constant('params'), fc.oneof(inner, fc.jsonValue())),
    fc.tuple(fc.constant('result'), fc.oneof(inner, fc.jsonValue())),
    fc.tuple(
      fc.constant('error'),
      fc.oneof(fc.record({ code: fc.integer(), message: fc.string() }), fc.jsonValue()),
    ),
    fc.tuple(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
  )
  const space = fc.constantFrom('', ' ', '\r\n', '\t')
  const object = fc
    .tuple(fc.array(member, { maxLength: 7 }), space, fc.boolean())
    .map(([members, gap, isEscaped]) => {
      const parts = members.map(([name, value]) => {
        const key = JSON.stringify(name)
        const written = isEscaped
          ? key.replace(/[a-z]/, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
          : key
        return `${gap}${written}${gap}:${gap}${JSON.stringify(value)}${gap}`
      })
      return `${gap}{${parts.join(',')}}${gap}`
    })
  return damaged(fc.oneof({ weight: 5, arbitrary: object }, { weight: 1, arbitrary: fc.json() }))
}

/** Cut off, with a byte changed, or as it is. */
function damaged(text: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  const damage = fc.oneof(
    fc.constant(undefined),
    fc.record({
      at: fc.nat(),
      byte: fc.oneof(fc.integer({ min: 0, max: 127 }), fc.constantFrom(...bytes('"\\{}[],:0-.eu\n'))),
    }),
    fc.record({ at: fc.nat(), byte: fc.constant(undefined) }),
  )
  return fc.tuple(text, damage).map(([whole, how]) => {
    const copy = bytes(whole)
    if (how === undefined || copy.length === 0) return copy
    const at = how.at % copy.length
    if (how.byte === undefined) return copy.subarray(0, at)
    copy[at] = how.byte
    return isUtf8(copy) ? copy : bytes(whole)
  })
}
