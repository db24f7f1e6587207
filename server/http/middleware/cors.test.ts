import { describe, expect, it } from 'vitest'
import { createHttpApp } from '../app.ts'
import type { CorsAudience } from '../endpoint.ts'
import { everyone, preflight, requestedHeaders } from './cors.ts'

const asking = (list: string): Request =>
  new Request('http://localhost/mcp', {
    method: 'OPTIONS',
    headers: { 'access-control-request-headers': list },
  })

describe('requestedHeaders', () => {
  it.each<[string, string[]]>([
    ['authorization', ['authorization']],
    ['Authorization , X-A,  b', ['authorization', 'x-a', 'b']],
    [`a,${'b'.repeat(5000)}`, []],
  ])('%.30s', (list, names) => {
    expect(requestedHeaders(asking(list))).toEqual(names)
  })
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

describe('an answer for', () => {
  it.each<[CorsAudience, string | null, string | null]>([
    [everyone(), '*', null],
    [{ kind: 'origin', origin: 'https://app.example' }, 'https://app.example', 'true'],
    [{ kind: 'nobody' }, null, null],
  ])('%j', async (audience, origin, credentials) => {
    const endpoint = { path: '/mcp', cors: () => audience, methods: { GET: () => new Response() } }
    const createContext = () => ({ id: 'request-1', address: undefined, report: () => {} })
    const fetch = createHttpApp([endpoint], { baseUrl: 'http://localhost', createContext })
    const { headers } = await fetch(new Request('http://localhost/mcp'))
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-allow-credentials')).toBe(credentials)
    expect(headers.get('access-control-expose-headers')?.includes('WWW-Authenticate') ?? false).toBe(
      origin !== null,
    )
  })
})
