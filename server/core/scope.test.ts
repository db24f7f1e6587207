import { describe, expect, it } from 'vitest'
import { authorizationServerScopes, grantScope, narrowScope, resourceScopes } from './scope.ts'

describe('advertised scopes', () => {
  it('protected resource metadata never names offline_access (MCP 2026-07-28 authorization)', () => {
    expect(resourceScopes).toEqual(['mcp'])
    expect(authorizationServerScopes).toEqual(['mcp', 'offline_access'])
  })
})

describe('grantScope (RFC 6749 section 3.3)', () => {
  it.each([
    ['nothing asked', undefined, 'mcp'],
    ['an empty text', '', 'mcp'],
    ['blanks only', '   ', 'mcp'],
    ['the tool scope', 'mcp', 'mcp'],
    ['the tool scope twice', 'mcp mcp', 'mcp'],
    ['both, in our order', 'offline_access mcp', 'mcp offline_access'],
    ['offline_access alone gets the tools too', 'offline_access', 'mcp offline_access'],
    ['OpenID scopes by habit', 'openid profile email', 'mcp'],
    ['OpenID scopes beside ours', 'openid mcp email offline_access', 'mcp offline_access'],
    ['a scope in another letter case is unknown', 'MCP', 'mcp'],
    ['a name that every object has', 'constructor __proto__', 'mcp'],
    ['a tab separates nothing', 'mcp\toffline_access', 'mcp'],
  ])('%s', (_rule, requested, granted) => {
    expect(grantScope(requested)).toBe(granted)
  })
})

describe('narrowScope (RFC 6749 section 6)', () => {
  it.each([
    ['omitted keeps the grant', undefined, 'mcp offline_access'],
    ['the same', 'mcp offline_access', 'mcp offline_access'],
    ['another order', 'offline_access mcp', 'mcp offline_access'],
    ['a subset', 'mcp', 'mcp'],
    ['a subset beside an unknown one', 'mcp admin', 'mcp'],
    ['only unknown ones, as once at authorization', 'openid profile', 'mcp offline_access'],
    ['another letter case is unknown', 'MCP', 'mcp offline_access'],
    ['part of a name is unknown', 'mc', 'mcp offline_access'],
    ['nothing that opens the resource', 'offline_access', 'mcp offline_access'],
  ])('%s', (_rule, requested, scope) => {
    expect(narrowScope('mcp offline_access', requested)).toBe(scope)
  })

  it('never widens', () => {
    expect(narrowScope('mcp', 'mcp offline_access')).toBe('mcp')
  })
})
