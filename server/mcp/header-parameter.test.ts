import { describe, expect, it } from 'vitest'
import { headerMismatch, readHeaderParameters } from './header-parameter.ts'

const text = { type: 'string', 'x-mcp-header': 'Region' }
const properties = (members: object): object => ({ type: 'object', properties: members })

describe('declarations of header parameters (MCP 2026-07-28 transports, x-mcp-header)', () => {
  it('are found at any depth, with the whole name of the header', () => {
    const size = { type: 'integer', 'x-mcp-header': 'Size' }
    expect(readHeaderParameters(properties({ a: text, b: properties({ c: size }) }))).toEqual({
      kind: 'read',
      parameters: [
        { path: ['a'], header: 'Mcp-Param-Region', type: 'string' },
        { path: ['b', 'c'], header: 'Mcp-Param-Size', type: 'integer' },
      ],
    })
  })

  it('are none in what is data', () => {
    const schema = properties({ a: { enum: [text], default: text, const: text, examples: [text] } })
    expect(readHeaderParameters(schema)).toEqual({ kind: 'read', parameters: [] })
  })

  it.each<[string, object, RegExp]>([
    ['in a list', properties({ a: { type: 'array', items: text } }), /reached through properties/],
    ['in a choice', { oneOf: [properties({ a: text })] }, /reached through properties/],
    ['in a definition', { ...properties({}), $defs: { a: text } }, /reached through properties/],
    ['at the root', { ...text, type: 'object' }, /reached through properties/],
    ['of a number', properties({ a: { ...text, type: 'number' } }), /string, integer or boolean/],
    ['of an object', properties({ a: { ...text, type: 'object' } }), /string, integer or boolean/],
    ['without a type', properties({ a: { 'x-mcp-header': 'A' } }), /string, integer or boolean/],
    ['with a blank', properties({ a: { ...text, 'x-mcp-header': 'a b' } }), /no header name/],
    ['with a line end', properties({ a: { ...text, 'x-mcp-header': 'a\n' } }), /no header name/],
    ['without a name', properties({ a: { ...text, 'x-mcp-header': '' } }), /no header name/],
    ['twice, but for case', properties({ a: text, b: { ...text, 'x-mcp-header': 'REGION' } }), /the same/],
  ])('%s are refused', (_where, schema, fault) => {
    expect(readHeaderParameters(schema)).toEqual({
      kind: 'faulty',
      fault: expect.stringMatching(fault) as string,
    })
  })
})

describe('headers and arguments (MCP 2026-07-28 transports, Mcp-Param-*)', () => {
  it.each<[string, 'string' | 'integer' | 'boolean', unknown, string | undefined, boolean]>([
    ['equal', 'string', 'eu', 'eu', false],
    ['equal, encoded', 'string', 'zürich', '=?base64?esO8cmljaA==?=', false],
    ['different', 'string', 'eu', 'us', true],
    ['missing', 'string', 'eu', undefined, true],
    ['empty, and so is the argument', 'string', '', '', false],
    ['no base64', 'string', 'eu', '=?base64?%?=', true],
    ['not needed: no argument', 'string', undefined, undefined, false],
    ['there without an argument: ignored', 'string', undefined, 'eu', false],
    ['not needed: null', 'string', null, undefined, false],
    ['another way to write the number', 'integer', 42, '42.0', false],
    ['another number', 'integer', 42, '43', true],
    ['no number', 'integer', 42, '0x2A', true],
    ['false', 'boolean', false, 'false', false],
    ['false in capitals', 'boolean', false, 'False', true],
    ['about a list, which no header can say', 'string', ['eu'], undefined, false],
  ])('%s', (_how, type, value, header, mismatch) => {
    const parameter = { path: ['a'], header: 'Mcp-Param-A', type }
    const headers = new Headers(header === undefined ? {} : { 'mcp-param-a': header })
    expect(headerMismatch([parameter], { a: value }, headers)).toBe(mismatch)
  })
})
