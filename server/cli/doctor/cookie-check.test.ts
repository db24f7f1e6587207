import { describe, expect, it } from 'vitest'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { cookieChecks } from './cookie-check.ts'

function find(name: string, config: ServerConfig): Finding {
  const finding = findingsOf(cookieChecks, config).find((found) => found.name === name)
  if (!finding) throw new Error('Nothing was found.')
  return finding
}

function reach(app: string, server: string, cookieName = 'sb-ref-auth-token'): Finding {
  return find('cookie-reach', configSample({ appUrl: app, baseUrl: server, cookieName }))
}

describe('cookie reach', () => {
  it.each([
    ['https://example.com', 'https://example.com/mcp-server'],
    ['http://localhost:3000', 'http://localhost:8787'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:8787'],
  ])('%s and %s are one host', (app, server) => {
    expect(reach(app, server).state).toBe('ok')
  })

  it.each([
    ['https://app.example.com', 'https://mcp.example.com', 'example.com'],
    ['https://example.com', 'https://mcp.example.com', 'example.com'],
    ['https://a.team.example.com', 'https://b.team.example.com', 'team.example.com'],
    ['https://app.example.co.uk', 'https://mcp.example.co.uk', 'example.co.uk'],
    ['https://app.mine.github.io', 'https://mcp.mine.github.io', 'mine.github.io'],
  ])('%s and %s need cookies for %s', (app, server, domain) => {
    const finding = reach(app, server)
    expect(finding).toMatchObject({ state: 'ok', message: expect.stringMatching(/^Note: /) })
    expect(finding.fix).toContain(`domain: '${domain}'`)
  })

  it.each([
    ['https://app.example.com', 'https://mcp.example.org'],
    ['https://example.co.uk', 'https://other.co.uk'],
    ['https://one.com.au', 'https://two.com.au'],
    ['https://mine.vercel.app', 'https://mcp.vercel.app'],
    ['http://localhost:3000', 'http://127.0.0.1:8787'],
    ['https://10.0.0.1', 'https://11.0.0.1'],
    ['http://[::1]:3000', 'http://localhost:8787'],
  ])('%s and %s have nothing in common', (app, server) => {
    const finding = reach(app, server)
    expect(finding.state).toBe('warn')
    expect(finding.message).toContain('no domain in common')
    expect(finding.fix).not.toContain('domain:')
  })

  it('a __Host- cookie never leaves its host', () => {
    const finding = reach('https://app.example.com', 'https://mcp.example.com', '__Host-session')
    expect(finding.message).toContain('never leaves app.example.com')
    expect(finding.fix).not.toContain('domain:')
  })
})

describe('cookie name', () => {
  it.each([
    ['https://abc.supabase.co/auth/v1', 'sb-abc-auth-token', 'ok', /as sb-abc-auth-token\.$/],
    [
      'https://auth.example.com',
      'sb-auth-auth-token',
      'ok',
      /right if the web app calls the provider auth\.example\.com/,
    ],
    ['https://abc.supabase.co/auth/v1', 'session', 'warn', /call it sb-abc-auth-token/],
  ])('%s with %s: %s', (providerUrl, cookieName, state, message) => {
    const finding = find('cookie-name', configSample({ provider: 'supabase', providerUrl, cookieName }))
    expect(finding.state).toBe(state)
    expect(finding.message).toMatch(message)
  })

  it('of the embedded provider is certain', () => {
    expect(find('cookie-name', configSample()).message).toBe(
      'The session cookie is looked for as sb-localhost-auth-token.',
    )
  })
})
