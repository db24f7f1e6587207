import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coversMore, coversServer, isSafeUrl } from './server-url.ts'

describe('a resource covers the server', () => {
  it.each([
    ['https://mcp.example/mcp', 'https://mcp.example/mcp'],
    ['https://mcp.example/mcp/', 'https://mcp.example/mcp'],
    ['https://mcp.example/mcp', 'https://mcp.example/mcp/'],
    ['https://mcp.example', 'https://mcp.example/mcp'],
    ['https://mcp.example/', 'https://mcp.example/mcp'],
    ['https://mcp.example', 'https://mcp.example'],
    ['https://mcp.example/v1', 'https://mcp.example/v1/mcp'],
    ['HTTPS://MCP.example/mcp', 'https://mcp.example/mcp'],
    ['https://mcp.example:443/mcp', 'https://mcp.example/mcp'],
    ['https://mcp.example/mcp', 'https://mcp.example/mcp?tenant=1'],
    ['https://mcp.example/mcp?tenant=1', 'https://mcp.example/mcp?tenant=1'],
  ])('the resource %s covers %s', (resource, serverUrl) => {
    expect(coversServer(resource, serverUrl)).toBe(true)
  })

  it.each([
    ['https://evil.example/mcp', 'https://mcp.example/mcp'],
    ['https://mcp.example.evil.example/mcp', 'https://mcp.example/mcp'],
    ['http://mcp.example/mcp', 'https://mcp.example/mcp'],
    ['https://mcp.example:8443/mcp', 'https://mcp.example/mcp'],
    ['https://mcp.example/mc', 'https://mcp.example/mcp'],
    ['https://mcp.example/mcp2', 'https://mcp.example/mcp'],
    ['https://mcp.example/mcp/more', 'https://mcp.example/mcp'],
    ['https://mcp.example/mcp#part', 'https://mcp.example/mcp'],
    ['https://mcp.example/mcp?tenant=2', 'https://mcp.example/mcp?tenant=1'],
    ['https://mcp.example/mcp?tenant=2', 'https://mcp.example/mcp'],
    ['https://mcp.example@evil.example/mcp', 'https://mcp.example/mcp'],
    ['https://user@mcp.example/mcp', 'https://mcp.example/mcp'],
    ['urn:mcp', 'https://mcp.example/mcp'],
    ['mcp.example', 'https://mcp.example/mcp'],
    ['', 'https://mcp.example/mcp'],
  ])('the resource %s does not cover %s', (resource, serverUrl) => {
    expect(coversServer(resource, serverUrl)).toBe(false)
  })

  it('a resource never covers another origin', () => {
    const pieces = 'https: // / mcp.example evil.example @ : . a /a/b .. ? # \\ %2e'.split(' ')
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, (resource) => {
        if (!coversServer(resource, 'https://mcp.example/a/b')) return
        expect(new URL(resource).origin).toBe('https://mcp.example')
        expect('/a/b/').toContain(new URL(resource).pathname)
      }),
      { numRuns: 5000 },
    )
  })
})

it.each([
  ['https://mcp.example/mcp', 'https://mcp.example/mcp', false],
  ['https://mcp.example/mcp', 'https://mcp.example/mcp/', false],
  ['https://mcp.example/mcp', 'https://mcp.example/mcp?sign-in', false],
  ['https://mcp.example', 'https://mcp.example/mcp?sign-in', true],
  ['https://mcp.example/mcp', 'https://mcp.example/mcp?tenant=1', true],
  ['https://mcp.example/mcp?tenant=1', 'https://mcp.example/mcp?tenant=1', false],
])('the resource %s covers more than %s: %s', (resource, serverUrl, more) => {
  expect(coversMore(resource, serverUrl)).toBe(more)
})

it.each([
  ['https://as.example/token', 'https://mcp.example', false, true],
  ['http://as.example/token', 'https://mcp.example', false, false],
  ['http://as.example/token', 'https://mcp.example', true, true],
  ['http://127.0.0.1:9/token', 'https://mcp.example', false, false],
  ['http://127.0.0.1:9/token', 'http://localhost:8', false, true],
  ['http://[::1]:9/token', 'http://127.0.0.1:8', false, true],
  ['https://user:password@as.example/token', 'https://mcp.example', false, false],
  ['file:///etc/passwd', 'https://mcp.example', true, false],
  ['javascript:alert(1)', 'https://mcp.example', true, false],
  ['//as.example', 'https://mcp.example', true, false],
])('the endpoint %s named by %s, http allowed: %s, is safe: %s', (url, from, allowHttp, isSafe) => {
  expect(isSafeUrl(url, from, { allowHttp })).toBe(isSafe)
})
