import { describe, expect, it } from 'vitest'
import { preflight, requestedHeaders } from './cors.ts'

const asking = (list: string): Request =>
  new Request('http://localhost/mcp', {
    method: 'OPTIONS',
    headers: { 'access-control-request-headers': list },
  })

it.each<[string, string[]]>([
  ['authorization', ['authorization']],
  ['Authorization , X-A,  b', ['authorization', 'x-a', 'b']],
  [`a,${'b'.repeat(5000)}`, []],
])('requestedHeaders: %.30s', (list, names) => {
  expect(requestedHeaders(asking(list))).toEqual(names)
})

describe('preflight', () => {
  it('allows what MCP clients send, and the parameter headers that are asked for', () => {
    const { headers } = preflight(asking('mcp-param-region,mcp-param-,x-evil,mcp-param-<b>'), ['POST'])
    const allowed = headers['access-control-allow-headers']?.split(', ')
    expect(allowed).toEqual(
      expect.arrayContaining(['authorization', 'mcp-protocol-version', 'mcp-param-region']),
    )
    expect(allowed).not.toContain('x-evil')
    expect(allowed).not.toContain('mcp-param-')
    expect(headers['access-control-allow-methods']).toBe('POST, OPTIONS')
  })

  it('names at most fifty of them', () => {
    const list = Array.from({ length: 200 }, (_, index) => `mcp-param-${index}`).join(',')
    const allowed = preflight(asking(list), ['POST']).headers['access-control-allow-headers'] ?? ''
    expect(allowed.match(/mcp-param-/g)).toHaveLength(50)
  })
})
