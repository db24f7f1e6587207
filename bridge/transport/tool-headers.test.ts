import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { decodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import { assert, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolHeaders } from './tool-headers.ts'

function tool(properties: JsonObject, rest: JsonObject = {}): JsonObject {
  return { name: 't', inputSchema: { type: 'object', properties, ...rest } }
}

const region = { type: 'string', 'x-mcp-header': 'Region' }

describe('a faulty declaration', () => {
  it('hides its tool, and nothing else', () => {
    const good = { name: 'good', inputSchema: { properties: { r: region } } }
    const read = new ToolHeaders([good, tool({}, { 'x-mcp-header': 'A' }), { inputSchema: {} }])
    expect([...read.offending.keys()]).toEqual(['t'])
    expect(read.headersFor('good', { r: 'eu' })).toEqual({ 'Mcp-Param-Region': 'eu' })
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
  const read = new ToolHeaders([tool(types)])
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
    const named = new ToolHeaders([tool({ constructor: { type: 'object', properties: { name: region } } })])
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
