import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { decodeMcpHeaderValue } from '@drawbridge/shared/mcp-header-value.ts'
import { assert, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readParameterHeaders } from './parameter-header.ts'

function tool(properties: JsonObject, rest: JsonObject = {}): JsonObject {
  return { name: 't', inputSchema: { type: 'object', properties, ...rest } }
}

const region = { type: 'string', 'x-mcp-header': 'Region' }

describe('faulty declarations (MCP 2026-07-28 transports, x-mcp-header)', () => {
  const rows: [string, JsonObject][] = [
    ['an empty name', tool({ a: { type: 'string', 'x-mcp-header': '' } })],
    ['a name with a space', tool({ a: { type: 'string', 'x-mcp-header': 'A B' } })],
    ['a name with a colon', tool({ a: { type: 'string', 'x-mcp-header': 'A:' } })],
    ['a name with a line end', tool({ a: { type: 'string', 'x-mcp-header': 'A\r\nB: c' } })],
    ['a name beyond ASCII', tool({ a: { type: 'string', 'x-mcp-header': 'Größe' } })],
    ['a name that is no text', tool({ a: { type: 'string', 'x-mcp-header': 7 } })],
    ['two names that differ in case', tool({ a: region, b: { type: 'string', 'x-mcp-header': 'REGION' } })],
    ['number', tool({ a: { type: 'number', 'x-mcp-header': 'A' } })],
    ['object', tool({ a: { type: 'object', 'x-mcp-header': 'A' } })],
    ['array', tool({ a: { type: 'array', 'x-mcp-header': 'A' } })],
    ['null', tool({ a: { type: 'null', 'x-mcp-header': 'A' } })],
    ['a list of types', tool({ a: { type: ['string', 'null'], 'x-mcp-header': 'A' } })],
    ['no type', tool({ a: { 'x-mcp-header': 'A' } })],
    ['the root', tool({}, { 'x-mcp-header': 'A' })],
    ['items', tool({ a: { type: 'array', items: region } })],
    ['a list of items', tool({ a: { type: 'array', prefixItems: [region] } })],
    [
      'properties of items',
      tool({ a: { type: 'array', items: { type: 'object', properties: { b: region } } } }),
    ],
    ['oneOf', tool({ a: { oneOf: [region] } })],
    ['anyOf at the root', tool({}, { anyOf: [{ properties: { a: region } }] })],
    ['allOf', tool({}, { allOf: [{ properties: { a: region } }] })],
    ['not', tool({ a: { not: region } })],
    ['else', tool({}, { if: {}, else: { properties: { a: region } } })],
    ['$defs', tool({ a: { $ref: '#/$defs/r' } }, { $defs: { r: region } })],
    ['additionalProperties', tool({}, { additionalProperties: region })],
    ['patternProperties', tool({}, { patternProperties: { '^a': region } })],
    ['a keyword nobody knows', tool({}, { 'x-more': { deep: [region] } })],
  ]
  it.each(rows)('%s', (_, faulty) => {
    const read = readParameterHeaders([faulty])
    expect([...read.offending.keys()]).toEqual(['t'])
    expect(read.headersFor('t', { a: 'x', b: 'y' })).toEqual({})
  })

  it('leaves the other tools alone', () => {
    const good = { name: 'good', inputSchema: { properties: { r: region } } }
    const read = readParameterHeaders([good, tool({}, { 'x-mcp-header': 'A' }), { inputSchema: {} }])
    expect([...read.offending.keys()]).toEqual(['t'])
    expect(read.headersFor('good', { r: 'eu' })).toEqual({ 'Mcp-Param-Region': 'eu' })
  })
})

describe('what is no declaration', () => {
  const rows: [string, JsonObject][] = [
    ['no schema', { name: 't' }],
    ['a property of that name', tool({ 'x-mcp-header': { type: 'string' } })],
    ['a definition of that name', tool({}, { $defs: { 'x-mcp-header': { type: 'string' } } })],
    ['a default', tool({ a: { type: 'object', default: { 'x-mcp-header': 'A' } } })],
    ['an enum', tool({ a: { enum: [{ 'x-mcp-header': 'A' }] } })],
    ['a constant', tool({ a: { const: { 'x-mcp-header': 'A' } } })],
    ['an example', tool({ a: { examples: [{ 'x-mcp-header': 'A' }] } })],
  ]
  it.each(rows)('%s', (_, fine) => {
    expect(readParameterHeaders([fine]).offending.size).toBe(0)
  })

  it('survives a schema that is nested without end', () => {
    let node: JsonObject = { type: 'string' }
    for (let depth = 0; depth < 50_000; depth += 1)
      node = depth % 2 === 0 ? { properties: { a: node } } : { items: node }
    expect(readParameterHeaders([{ name: 't', inputSchema: node }]).offending.size).toBe(0)
  })
})

describe('values', () => {
  const types = {
    s: { type: 'string', 'x-mcp-header': 'S' },
    i: { type: 'integer', 'x-mcp-header': 'I' },
    b: { type: 'boolean', 'x-mcp-header': 'B' },
    o: {
      type: 'object',
      properties: {
        o: { type: 'object', properties: { d: { type: 'string', 'x-mcp-header': 'Deep' } } },
      },
    },
    plain: { type: 'string' },
  }
  const read = readParameterHeaders([tool(types)])
  const rows: [string, unknown, Record<string, string>][] = [
    ['plain text', { s: 'us west 1' }, { 'Mcp-Param-S': 'us west 1' }],
    ['an empty text', { s: '' }, { 'Mcp-Param-S': '' }],
    ['edge spaces', { s: ' padded ' }, { 'Mcp-Param-S': '=?base64?IHBhZGRlZCA=?=' }],
    ['beyond ASCII', { s: 'Hello, 世界' }, { 'Mcp-Param-S': '=?base64?SGVsbG8sIOS4lueVjA==?=' }],
    ['a line end', { s: 'a\r\nb' }, { 'Mcp-Param-S': '=?base64?YQ0KYg==?=' }],
    ['what looks encoded', { s: '=?base64?YQ==?=' }, { 'Mcp-Param-S': '=?base64?PT9iYXNlNjQ/WVE9PT89?=' }],
    ['an integer', { i: -42 }, { 'Mcp-Param-I': '-42' }],
    ['minus zero', { i: -0 }, { 'Mcp-Param-I': '0' }],
    ['an integer that lost its digits', { i: 2 ** 53 }, {}],
    ['true', { b: true }, { 'Mcp-Param-B': 'true' }],
    ['false', { b: false }, { 'Mcp-Param-B': 'false' }],
    ['null', { s: null, b: null }, {}],
    ['absent', {}, {}],
    ['without a marker', { plain: 'x' }, {}],
    ['deep', { o: { o: { d: 'x' } } }, { 'Mcp-Param-Deep': 'x' }],
    ['a way that is no object', { o: [{ d: 'x' }] }, {}],
    ['an object for a text', { s: { a: 1 } }, {}],
    ['no arguments', undefined, {}],
    ['arguments that are no object', 'x', {}],
  ]
  it.each(rows)('%s', (_, args, headers) => {
    expect(read.headersFor('t', args)).toEqual(headers)
  })

  it('knows nothing of other tools', () => {
    expect(read.headersFor('u', { s: 'x' })).toEqual({})
  })

  it('takes no value from a prototype', () => {
    const named = readParameterHeaders([
      tool({ constructor: { type: 'object', properties: { name: region } } }),
    ])
    expect(named.headersFor('t', {})).toEqual({})
  })

  it('is always decoded to what the arguments say', () => {
    assert(
      property(string({ unit: 'binary' }), (text) => {
        const header = read.headersFor('t', { s: text })['Mcp-Param-S']
        expect(header).toMatch(/^[\x20-\x7E]*$/)
        expect(decodeMcpHeaderValue(header!)).toBe(text)
      }),
    )
  })
})
