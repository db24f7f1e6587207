import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import { decodeMcpHeaderValue, encodeMcpHeaderValue } from './mcp-header-value.ts'

describe('encodeMcpHeaderValue (MCP 2026-07-28 transports, header encoding)', () => {
  test.each([
    ['a plain name stays', 'run_sql', 'run_sql'],
    ['a URI stays', 'file:///a%20b?c=d', 'file:///a%20b?c=d'],
    ['one character stays', 'x', 'x'],
    ['inner spaces stay', 'us west 1', 'us west 1'],
    ['empty stays', '', ''],
    ['half a sentinel stays', '=?base64?', '=?base64?'],
    ['the markers are case-sensitive', '=?BASE64?eA==?=', '=?BASE64?eA==?='],
    ['a leading space', ' x', '=?base64?IHg=?='],
    ['a trailing space', 'x ', '=?base64?eCA=?='],
    ['a tab', 'a\tb', '=?base64?YQli?='],
    ['a line end', 'a\nb', '=?base64?YQpi?='],
    ['non-ASCII, with the standard alphabet', 'ÿþ¿', '=?base64?w7/DvsK/?='],
    ['no padding needed', 'é!', '=?base64?w6kh?='],
    ['text that looks encoded', '=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
  ])('encodeMcpHeaderValue: %s', (_rule, value, header) => {
    expect(encodeMcpHeaderValue(value)).toBe(header)
    expect(decodeMcpHeaderValue(header)).toBe(value)
  })

  it('any value can be encoded, sent and decoded', () => {
    const unit = fc.constantFrom('a', ' ', '=', '?', '=?base64?', '?=', 'é', '😀', '\n', '\0', 'eA==')
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (value) => {
        const header = encodeMcpHeaderValue(value)
        expect(new Headers({ 'Mcp-Name': header }).get('mcp-name')).toBe(header)
        expect(decodeMcpHeaderValue(header)).toBe(value)
      }),
    )
  })
})

test.each([
  ['the url alphabet', '=?base64?w7_DvsK_?='],
  ['missing padding', '=?base64?eA?='],
  ['too much padding', '=?base64?eA===?='],
  ['a space', '=?base64?eA= =?='],
  ['a stray character', '=?base64?e!==?='],
  ['a mark in the middle', '=?base64?eA==?=x?='],
  ['two values', '=?base64?=?base64?eA==?='],
  ['bytes that are not UTF-8', '=?base64?/w==?='],
])('a header value marked as encoded, but %s, is refused', (_rule, header) => {
  expect(decodeMcpHeaderValue(header)).toBeUndefined()
})

test('an encoded header value without content decodes to the empty text', () => {
  expect(decodeMcpHeaderValue('=?base64??=')).toBe('')
  expect(decodeMcpHeaderValue('=?base64?=')).toBe('=?base64?=')
})
