import { describe, expect, it } from 'vitest'
import { createHostGuard, isOwnFormPost, judgeOrigin, mayUseCookie } from './guards.ts'

it.each<[host: string, baseUrl: string, own: boolean]>([
  ['localhost:8787', 'http://localhost:8787', true],
  ['LOCALHOST:8787', 'http://localhost:8787', true],
  ['127.0.0.1:8787', 'http://localhost:8787', true],
  ['[::1]:8787', 'http://localhost:8787', true],
  ['localhost:8788', 'http://localhost:8787', false],
  ['localhost', 'http://localhost:8787', false],
  ['evil.example:8787', 'http://localhost:8787', false],
  ['localhost.evil.example:8787', 'http://localhost:8787', false],
  ['localhost:8787@evil.example', 'http://localhost:8787', false],
  ['localhost:8787/x', 'http://localhost:8787', false],
  ['', 'http://localhost:8787', false],
  ['mcp.example.com', 'https://mcp.example.com', true],
  ['mcp.example.com:443', 'https://mcp.example.com', true],
  ['mcp.example.com:8443', 'https://mcp.example.com', false],
  ['localhost', 'https://mcp.example.com', false],
  ['127.0.0.1', 'https://mcp.example.com', false],
  ['evil.mcp.example.com', 'https://mcp.example.com', false],
])('createHostGuard: %s at %s: %s', (host, baseUrl, own) => {
  const request = { headers: new Headers({ host }), url: `${baseUrl}/` } as Request
  expect(createHostGuard(baseUrl)(request)).toBe(own)
})

describe('judgeOrigin', () => {
  const allowed = ['https://app.example.com']
  it.each<[origin: string | null, verdict: string]>([
    [null, 'absent'],
    ['https://app.example.com', 'trusted'],
    ['https://APP.example.com', 'trusted'],
    ['http://app.example.com', 'foreign'],
    ['https://app.example.com.evil.example', 'foreign'],
    ['http://localhost:6274', 'bearer_only'],
    ['https://127.0.0.1', 'bearer_only'],
    ['http://[::1]:5173', 'bearer_only'],
    ['moz-extension://0a1b2c3d-0000-4000-8000-000000000000', 'bearer_only'],
    ['file://', 'foreign'],
    ['null', 'foreign'],
    ['', 'foreign'],
    ['not an origin', 'foreign'],
  ])('%s: %s', (origin, verdict) => {
    expect(judgeOrigin(origin, allowed)).toBe(verdict)
  })
})

describe('OAuth 2.1 7.1.3: mayUseCookie', () => {
  const request = (headers: Record<string, string>): Request =>
    new Request('http://localhost/mcp', { headers })
  it.each<[string, Record<string, string>, 'absent' | 'trusted' | 'bearer_only' | 'foreign', boolean]>([
    ['no browser at all', {}, 'absent', true],
    ['a trusted page', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }, 'trusted', true],
    ['a loopback page', {}, 'bearer_only', false],
    ['a foreign page', {}, 'foreign', false],
    ['cross-site without an origin', { 'sec-fetch-site': 'cross-site' }, 'absent', false],
    ['cross-site with a trusted origin', { 'sec-fetch-site': 'cross-site' }, 'trusted', false],
    ['a navigation', { 'sec-fetch-mode': 'navigate' }, 'absent', false],
  ])('%s', (_name, headers, verdict, allowed) => {
    expect(mayUseCookie(request(headers), verdict)).toBe(allowed)
  })
})

describe('isOwnFormPost', () => {
  const post = (headers: Record<string, string>, url = 'https://mcp.example.com/oauth/authorize'): Request =>
    new Request(url, { method: 'POST', headers })

  const origins: readonly [origin: string | undefined, own: boolean][] = [
    // Browsers send it with every POST. Without it the request is not from a page.
    [undefined, true],
    ['https://mcp.example.com', true],
    ['https://MCP.example.com', true],
    ['https://mcp.example.com:443', true],
    ['null', false],
    ['', false],
    ['https://evil.example', false],
    ['http://mcp.example.com', false],
    ['https://mcp.example.com:8443', false],
    ['https://mcp.example.com.evil.example', false],
    ['https://evil-mcp.example.com', false],
    ['https://mcp.example.com@evil.example', false],
    ['https://mcp.example.com https://evil.example', false],
    ['https://mcp.example.com, https://evil.example', false],
  ]
  const sites: readonly [site: string | undefined, own: boolean][] = [
    [undefined, true],
    ['same-origin', true],
    // The user's own action: a form submitted again.
    ['none', true],
    ['same-site', false],
    ['cross-site', false],
    ['', false],
    ['Same-Origin', false],
    ['same-origin, cross-site', false],
  ]

  it.each(
    origins.flatMap(([origin, own]) => sites.map(([site, near]) => [origin, site, own && near] as const)),
  )('Origin %s, Sec-Fetch-Site %s: %s', (origin, site, own) => {
    const headers = {
      ...(origin !== undefined && { origin }),
      ...(site !== undefined && { 'sec-fetch-site': site }),
    }
    expect(isOwnFormPost(post(headers), 'https://mcp.example.com')).toBe(own)
  })

  it.each<[origin: string, own: boolean]>([
    ['http://localhost:8787', true],
    ['http://127.0.0.1:8787', true],
    ['http://localhost:8788', false],
    ['https://localhost:8787', false],
  ])('at a loopback base URL %s: %s', (origin, own) => {
    expect(isOwnFormPost(post({ origin }), 'http://localhost:8787')).toBe(own)
  })
})
