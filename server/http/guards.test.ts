import { describe, expect, it } from 'vitest'
import { createHostGuard, isOwnFormPost, judgeOrigin, mayUseCookie } from './guards.ts'

describe('createHostGuard', () => {
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
  ])('%s at %s: %s', (host, baseUrl, own) => {
    const request = { headers: new Headers({ host }), url: baseUrl } as Request
    expect(createHostGuard(baseUrl)(request)).toBe(own)
  })
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

describe('mayUseCookie', () => {
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
  const post = (headers: Record<string, string>): Request =>
    new Request('https://mcp.example.com/oauth/authorize', { method: 'POST', headers })
  it.each<[string, Record<string, string>, boolean]>([
    ['our page', { origin: 'https://mcp.example.com', 'sec-fetch-site': 'same-origin' }, true],
    ['a client without browser headers', {}, true],
    ['our host over http', { origin: 'http://mcp.example.com' }, false],
    ['another port', { origin: 'https://mcp.example.com:8443' }, false],
    ['an opaque origin', { origin: 'null' }, false],
  ])('%s', (_name, headers, own) => {
    expect(isOwnFormPost(post(headers), 'https://mcp.example.com')).toBe(own)
  })
})
