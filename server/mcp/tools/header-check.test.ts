import { expect, it } from 'vitest'
import { parameterHeaderMismatch } from './header-check.ts'

it.each<[string, 'string' | 'integer' | 'boolean', unknown, string | undefined, boolean]>([
  ['equal', 'string', 'eu', 'eu', false],
  ['equal, encoded', 'string', 'zürich', '=?base64?esO8cmljaA==?=', false],
  ['different', 'string', 'eu', 'us', true],
  ['missing', 'string', 'eu', undefined, true],
  ['empty, and so is the argument', 'string', '', '', false],
  ['no base64', 'string', 'eu', '=?base64?%?=', true],
  ['not needed: no argument', 'string', undefined, undefined, false],
  ['there without an argument: ignored', 'string', undefined, 'eu', false],
  ['MCP transport Custom-Headers: not needed: null', 'string', null, undefined, false],
  ['another way to write the number', 'integer', 42, '42.0', false],
  ['another number', 'integer', 42, '43', true],
  ['no number', 'integer', 42, '0x2A', true],
  ['false', 'boolean', false, 'false', false],
  ['false in capitals', 'boolean', false, 'False', true],
  ['about a list, which no header can say', 'string', ['eu'], undefined, false],
])(
  'headers and arguments (MCP 2026-07-28 transports, Mcp-Param-*): %s',
  (_how, type, value, header, mismatch) => {
    const parameter = { path: ['a'], header: 'Mcp-Param-A', type }
    const headers = new Headers(header === undefined ? {} : { 'mcp-param-a': header })
    expect(parameterHeaderMismatch([parameter], { a: value }, headers) !== undefined).toBe(mismatch)
  },
)
