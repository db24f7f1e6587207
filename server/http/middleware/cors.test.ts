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
  it('preflight allows what MCP clients send, what the endpoint reads, and the requested headers of MCP', () => {
    const asked = 'mcp-param-region,mcp-later,mcp-,mcp,x-mcp-a,x-evil,mcp-param-<b>'
    const { headers } = preflight(asking(asked), ['POST'], ['x-tenant'])
    const allowed = headers['access-control-allow-headers']?.split(', ')
    expect(allowed).toEqual([
      'authorization',
      'content-type',
      'accept',
      'accept-language',
      'mcp-protocol-version',
      'mcp-method',
      'mcp-name',
      'mcp-session-id',
      'last-event-id',
      'traceparent',
      'tracestate',
      'baggage',
      'x-tenant',
      'mcp-param-region',
      'mcp-later',
    ])
    expect(headers['access-control-allow-methods']).toBe('POST, OPTIONS')
  })

  it('preflight names at most fifty requested headers', () => {
    const list = Array.from({ length: 200 }, (_, index) => `mcp-param-${index}`).join(',')
    const allowed = preflight(asking(list), ['POST']).headers['access-control-allow-headers'] ?? ''
    expect(allowed.match(/mcp-param-/g)).toHaveLength(50)
  })
})
