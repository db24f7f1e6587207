import { describe, expect, it } from 'vitest'
import { ScopeCatalogue, requireScopeText } from './scope.ts'

const scopes = new ScopeCatalogue()
const extended = new ScopeCatalogue({ 'notes:write': 'Change your notes' })

it('advertised scopes: protected resource metadata never names offline_access (MCP 2026-07-28 authorization)', () => {
  expect(scopes.resource).toEqual(['mcp'])
  expect(scopes.authorizationServer).toEqual(['mcp', 'offline_access'])
})

it.each([
  ['MCP security Scope-Minimization, OAuth 2.1 1.4.1: nothing asked', undefined, 'mcp'],
  ['the tool scope', 'mcp', 'mcp'],
  ['both, in our order', 'offline_access mcp', 'mcp offline_access'],
  ['offline_access alone gets the tools too', 'offline_access', 'mcp offline_access'],
  ['OpenID scopes by habit', 'openid profile email', 'mcp'],
  ['a scope in another letter case is unknown', 'MCP', 'mcp'],
  ['a name that every object has', 'constructor __proto__', 'mcp'],
  ['a tab separates nothing', 'mcp\toffline_access', 'mcp'],
])('granting (RFC 6749 section 3.3): %s', (_rule, requested, granted) => {
  expect(scopes.grant(requested)).toBe(granted)
})

describe('narrowing (RFC 6749 section 6)', () => {
  it.each([
    ['omitted keeps the grant', undefined, 'mcp offline_access'],
    ['another order', 'offline_access mcp', 'mcp offline_access'],
    ['a subset', 'mcp', 'mcp'],
    ['a subset beside an unknown one', 'mcp admin', 'mcp'],
    ['only unknown ones, as once at authorization', 'openid profile', 'mcp offline_access'],
    ['part of a name is unknown', 'mc', 'mcp offline_access'],
    ['nothing that opens the resource', 'offline_access', 'mcp offline_access'],
  ])('%s', (_rule, requested, scope) => {
    expect(scopes.narrow('mcp offline_access', requested)).toBe(scope)
  })

  it('RFC 9700 4.14.2: narrowing never widens a scope', () => {
    expect(scopes.narrow('mcp', 'mcp offline_access')).toBe('mcp')
  })
})

describe('scopes of a tools module', () => {
  it.each([
    ['beside a granted one', 'mcp', 'mcp notes:write', 'mcp'],
    ['beside one without effect', 'mcp offline_access', 'notes:write offline_access', 'mcp offline_access'],
    ['in front of a part of the granted ones', 'mcp offline_access', 'notes:write mcp', 'mcp'],
  ])(
    'RFC 6749 6: a scope of a tools module that was not granted, %s, does not come by a refresh',
    (_how, granted, asked, scope) => {
      expect(extended.narrow(granted, asked)).toBe(scope)
    },
  )

  it('scopes of a tools module are advertised behind the tool scope', () => {
    expect(extended.resource).toEqual(['mcp', 'notes:write'])
    expect(extended.authorizationServer).toEqual(['mcp', 'notes:write', 'offline_access'])
  })

  it('MCP auth Step-Up: scopes of a tools module are granted to clients that request them, and to no other', () => {
    expect(extended.grant('notes:write')).toBe('mcp notes:write')
    expect(extended.grant(undefined)).toBe('mcp')
  })

  it('scopes of a tools module are described in the words of the module, unknown ones not at all', () => {
    expect(extended.describe('mcp notes:write offline_access other', 'Use the tools')).toEqual([
      expect.stringContaining('tools'),
      'Change your notes',
    ])
  })
})

it.each<[rule: string, text: string, expected: boolean]>([
  ['every character that is allowed', "!#$%&'()*+,-./09:;<=>?@AZ[]^_`az{|}~", true],
  ['blanks too many', '  mcp   x ', true],
  ['a quote', 'mcp"', false],
  ['a back-slash', 'mcp\\x', false],
  ['a tab', 'mcp\tx', false],
  ['beyond ASCII', 'mcpé', false],
])('RFC 6749 A.4: %s', (_rule, text, expected) => {
  const require = (): void => requireScopeText(text)
  if (expected) expect(require).not.toThrow()
  else expect(require).toThrow(expect.objectContaining({ code: 'invalid_scope', status: 400 }))
})
