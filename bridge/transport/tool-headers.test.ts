import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { describe, expect, it } from 'vitest'
import { ToolHeaders } from './tool-headers.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }

/** The headers of a call of the tool `t`, with these properties. */
function headersOf(properties: JsonObject, args: unknown): Record<string, string> {
  const known = [{ name: 't', inputSchema: { type: 'object', properties } }]
  const headers = new ToolHeaders({ knownTools: () => known, warn() {} })
  const params = { name: 't', ...(args !== undefined && { arguments: args }) }
  return headers.headersFor({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
}

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
  it.each<[string, unknown, Record<string, string>]>([
    ['plain text', { s: 'us west 1' }, { 'Mcp-Param-S': 'us west 1' }],
    ['an empty text', { s: '' }, { 'Mcp-Param-S': '' }],
    ['beyond ASCII', { s: 'Hello, 世界' }, { 'Mcp-Param-S': '=?base64?SGVsbG8sIOS4lueVjA==?=' }],
    ['an integer', { i: -42 }, { 'Mcp-Param-I': '-42' }],
    ['minus zero', { i: -0 }, { 'Mcp-Param-I': '0' }],
    ['an integer that lost its digits', { i: 2 ** 53 }, {}],
    ['true', { b: true }, { 'Mcp-Param-B': 'true' }],
    ['null', { s: null, b: null }, {}],
    ['absent', {}, {}],
    ['without a marker', { plain: 'x' }, {}],
    ['deep', { o: { o: { d: 'x' } } }, { 'Mcp-Param-Deep': 'x' }],
    ['a way that is no object', { o: [{ d: 'x' }] }, {}],
    ['an object for a text', { s: { a: 1 } }, {}],
    ['no arguments', undefined, {}],
    ['arguments that are no object', 'x', {}],
  ])('%s', (_, args, headers) => {
    expect(headersOf(types, args)).toEqual(headers)
  })

  it('takes none from a prototype', () => {
    expect(headersOf({ constructor: { type: 'object', properties: { name: region } } }, {})).toEqual({})
  })
})
