import { describe, expect, it } from 'vitest'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { cookieChecks } from './supabase-check.ts'

function find(name: string, config: ServerConfig): Finding {
  const finding = findingsOf(cookieChecks, config).find((found) => found.name === name)
  if (!finding) throw new Error('Nothing was found.')
  return finding
}

function reach(app: string, server: string): Finding {
  return find('cookie-reach', configSample({ appUrl: app, baseUrl: server }))
}

describe('doctor, on whether the cookie reaches the server', () => {
  it.each([
    ['https://example.com', 'https://example.com/mcp-server'],
    ['http://localhost:3000', 'http://localhost:8787'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:8787'],
  ])('doctor passes the cookie for %s and %s, which are one host', (app, server) => {
    expect(reach(app, server).state).toBe('ok')
  })

  it.each([
    ['https://app.example.com', 'https://mcp.example.com'],
    ['https://app.example.com', 'https://mcp.example.org'],
    ['http://localhost:3000', 'http://127.0.0.1:8787'],
  ])('doctor notes what the cookie needs to reach %s and %s, which are two hosts', (app, server) => {
    const finding = reach(app, server)
    expect(finding.state).toBe('note')
    expect(finding.message).toContain(`of ${new URL(app).hostname} to ${new URL(server).hostname} only if`)
    expect(finding.fix).toMatch(/domain: .*without __Host-/)
  })
})

describe('doctor, on the name of the cookie', () => {
  it.each([
    ['https://abc.supabase.co/auth/v1', 'sb-abc-auth-token', 'ok', /is sb-abc-auth-token\.$/],
    [
      'https://auth.example.com',
      'sb-auth-auth-token',
      'ok',
      /right if the web app calls the provider auth\.example\.com/,
    ],
    ['https://abc.supabase.co/auth/v1', 'session', 'warn', /call it sb-abc-auth-token/],
  ])("doctor compares the cookie's name of %s with %s: %s", (providerUrl, cookieName, state, message) => {
    const finding = find('cookie-name', configSample({ provider: 'supabase', providerUrl, cookieName }))
    expect(finding.state).toBe(state)
    expect(finding.message).toMatch(message)
  })

  it("doctor is certain of the embedded provider's cookie name", () => {
    expect(find('cookie-name', configSample()).message).toBe(
      'The expected session cookie is sb-localhost-auth-token.',
    )
  })
})
