import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { readMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
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
  ])('an argument with a marker is sent as a header, if it has a value to send: %s', (_, args, headers) => {
    expect(headersOf(types, args)).toEqual(headers)
  })

  it('header values do not come from a prototype', () => {
    expect(headersOf({ constructor: { type: 'object', properties: { name: region } } }, {})).toEqual({})
  })
})

describe('a page of a list of tools', () => {
  const good = { name: 'good', inputSchema: { type: 'object', properties: { r: region } } }
  const bad = {
    name: 'bad',
    inputSchema: { type: 'object', properties: { r: { ...region, type: 'object' } } },
  }
  const plain = { name: 'plain', inputSchema: { type: 'object' } }
  const create = (known: readonly JsonObject[] = []) => {
    const warnings: string[] = []
    const headers = new ToolHeaders({ knownTools: () => known, warn: (text) => void warnings.push(text) })
    const read = (result: unknown, cursor?: string): { text: string; result: unknown } => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result })
      const params = cursor === undefined ? {} : { cursor }
      const request = { jsonrpc: '2.0', id: 1, method: 'tools/list', params } as const
      const page = headers.readPage(request, readMessage(Buffer.from(text)))
      return {
        text: page.text === text ? 'as it came' : page.text,
        result: JSON.parse(page.text).result as unknown,
      }
    }
    const of = (name: string): Record<string, string> =>
      headers.headersFor({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: { r: 'x' } },
      })
    return { warnings, read, of }
  }

  it('a page without faulty tools passes unchanged, and its headers are learned', () => {
    const { read, of, warnings } = create()
    expect(read({ tools: [good, plain, 7] }).text).toBe('as it came')
    expect([of('good'), of('plain'), of('unknown')]).toEqual([{ 'Mcp-Param-Region': 'x' }, {}, {}])
    expect(warnings).toEqual([])
  })

  it.each([[undefined], [7], [{}], [{ tools: 'none' }]])('a page that is %j passes unchanged', (result) => {
    expect(create().read(result).text).toBe('as it came')
  })

  it('a page loses its faulty tools only, with one warning for each', () => {
    const { read, of, warnings } = create()
    for (let times = 0; times < 2; times += 1)
      expect(read({ tools: [bad, 7, good], nextCursor: 'n' }).result).toEqual({
        tools: [7, good],
        nextCursor: 'n',
      })
    expect([of('good'), of('bad')]).toEqual([{ 'Mcp-Param-Region': 'x' }, {}])
    expect(warnings).toEqual([
      expect.stringMatching(/^The tool "bad" is hidden, its x-mcp-header is faulty: .+\.$/),
    ])
  })

  it('a page adds to the previous one, and a first page starts over', () => {
    const { read, of } = create()
    read({ tools: [good] })
    read({ tools: [plain] }, '2')
    expect(of('good')).toEqual({ 'Mcp-Param-Region': 'x' })
    read({ tools: [plain] })
    expect(of('good')).toEqual({})
  })

  it('a page replaces remembered tools, and of two tools with one name the later counts', () => {
    const { read, of } = create([good])
    expect(of('good')).toEqual({ 'Mcp-Param-Region': 'x' })
    read({ tools: [good, { ...good, inputSchema: {} }] })
    expect(of('good')).toEqual({})
    expect(read({ tools: [{ ...bad, name: 'good' }, good] }).text).toBe('as it came')
    const unread = create([good])
    unread.read({ tools: [] })
    expect(unread.of('good')).toEqual({})
  })

  it('at most a thousand tools are warned of', () => {
    const { read, warnings } = create()
    const many = Array.from({ length: 1001 }, (_, index) => ({ ...bad, name: `bad ${index}` }))
    expect(read({ tools: many }).result).toEqual({ tools: [] })
    expect(warnings).toHaveLength(1000)
  })
})
