import { describe, expect, it } from 'vitest'
import { readHeaderParameters } from './x-mcp-header.ts'

const text = { type: 'string', 'x-mcp-header': 'Region' }
const properties = (members: object): object => ({ type: 'object', properties: members })

describe('declarations of header parameters (MCP 2026-07-28 transports, x-mcp-header)', () => {
  it('header parameters are found at any depth, with the full name of the header', () => {
    const size = { type: 'integer', 'x-mcp-header': 'Size' }
    const read = readHeaderParameters(properties({ a: text, b: properties({ c: size }) }))
    expect(read).toEqual({ kind: 'read', parameters: expect.any(Array) as unknown })
    expect(new Set(read.kind === 'read' ? read.parameters : [])).toEqual(
      new Set([
        { path: ['a'], header: 'Mcp-Param-Region', type: 'string' },
        { path: ['b', 'c'], header: 'Mcp-Param-Size', type: 'integer' },
      ]),
    )
  })

  it('header parameters are not read from data', () => {
    const schema = properties({ a: { enum: [text], default: text, const: text, examples: [text] } })
    expect(readHeaderParameters(schema)).toEqual({ kind: 'read', parameters: [] })
  })

  it.each<[string, object, RegExp]>([
    ['with a colon', properties({ a: { ...text, 'x-mcp-header': 'A:' } }), /not a header name/],
    ['with a number for a name', properties({ a: { ...text, 'x-mcp-header': 7 } }), /not a header name/],
    [
      'of a list of types',
      properties({ a: { ...text, type: ['string', 'null'] } }),
      /string, integer or boolean/,
    ],
    ['in a list', properties({ a: { type: 'array', prefixItems: [text] } }), /reached through properties/],
    ['below items', properties({ a: { items: properties({ b: text }) } }), /reached through properties/],
    ['in a choice', { oneOf: [properties({ a: text })] }, /reached through properties/],
    ['in a definition', { ...properties({}), $defs: { a: text } }, /reached through properties/],
    ['in patterns', { ...properties({}), patternProperties: { '^a': text } }, /reached through properties/],
    [
      'in an unknown keyword',
      { ...properties({}), 'x-more': { deep: [text] } },
      /reached through properties/,
    ],
    ['at the root', { ...text, type: 'object' }, /reached through properties/],
    ['of a number', properties({ a: { ...text, type: 'number' } }), /string, integer or boolean/],
    ['with a line end', properties({ a: { ...text, 'x-mcp-header': 'a\n' } }), /not a header name/],
    ['without a name', properties({ a: { ...text, 'x-mcp-header': '' } }), /not a header name/],
    [
      'twice, but for case',
      properties({ a: text, b: { ...text, 'x-mcp-header': 'REGION' } }),
      /two properties have/,
    ],
  ])('MCP transport Custom-Headers: %s are refused', (_where, schema, fault) => {
    expect(readHeaderParameters(schema)).toEqual({
      kind: 'faulty',
      fault: expect.stringMatching(fault) as string,
    })
  })

  it.each<[string, unknown]>([
    ['no schema', undefined],
    ['a property of that name', properties({ 'x-mcp-header': { type: 'string' } })],
    ['a definition of that name', { ...properties({}), $defs: { 'x-mcp-header': { type: 'string' } } }],
    ['a default', properties({ a: { type: 'object', default: { 'x-mcp-header': 'A' } } })],
  ])('header parameters are not read from %s', (_what, schema) => {
    expect(readHeaderParameters(schema)).toEqual({ kind: 'read', parameters: [] })
  })

  it('reading header parameters survives a schema nested without end', () => {
    let node: object = { type: 'string' }
    for (let depth = 0; depth < 50_000; depth += 1)
      node = depth % 2 === 0 ? { properties: { a: node } } : { items: node }
    expect(readHeaderParameters(node)).toEqual({ kind: 'read', parameters: [] })
  })
})
