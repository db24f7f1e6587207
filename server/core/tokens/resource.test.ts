import { describe, expect, it } from 'vitest'
import { isOurResource, requireOurResource } from './resource.ts'

const ours = 'https://mcp.example.com/mcp'
const ourBelowPath = 'https://example.com/tools/mcp'

describe('MCP auth Canonical-Server-URI: isOurResource (RFC 8707 section 2)', () => {
  it.each([
    ['the canonical form', ours, true],
    ['a trailing slash', `${ours}/`, true],
    ['the bare origin', 'https://mcp.example.com', true],
    ['upper-case scheme and host', 'HTTPS://MCP.Example.COM/mcp', true],
    ['the default port', 'https://mcp.example.com:443/mcp', true],
    ['a query', `${ours}?x=1`, true],
    ['a fragment, even an empty one', `${ours}#`, false],
    ['http for https', 'http://mcp.example.com/mcp', false],
    ['another port', 'https://mcp.example.com:8443/mcp', false],
    ['another host', 'https://other.example.com/mcp', false],
    ['our host as user', 'https://mcp.example.com@evil.test/mcp', false],
    ['a user before our host', 'https://user@mcp.example.com/mcp', false],
    ['a password before our host', 'https://:secret@mcp.example.com/mcp', false],
    ['a deeper path', `${ours}/deeper`, false],
    ['another letter case in the path', 'https://mcp.example.com/MCP', false],
    ['two trailing slashes', `${ours}//`, false],
    ['no URL', 'mcp', false],
  ])('%s', (_rule, indicator, expected) => {
    expect(isOurResource(indicator, ours)).toBe(expected)
  })

  it.each([
    ['the canonical form', ourBelowPath, true],
    ['the base URL', 'https://example.com/tools', true],
    ['the bare origin is another resource', 'https://example.com', false],
    ['another path', 'https://example.com/other/mcp', false],
  ])('below a path: %s', (_rule, indicator, expected) => {
    expect(isOurResource(indicator, ourBelowPath)).toBe(expected)
  })
})

it.each([
  ['none', [], true],
  ['ours', [ours], true],
  ['ours beside a foreign one', [ours, 'https://other.example/mcp'], false],
  ['RFC 6749 3.1: one without a value counts as omitted', [''], true],
  ['a foreign one beside one without a value', ['', 'https://other.example/mcp'], false],
])('requireOurResource: %s', (_rule, indicators, expected) => {
  const require = (): void => requireOurResource(indicators, ours)
  if (expected) expect(require).not.toThrow()
  else expect(require).toThrow(expect.objectContaining({ code: 'invalid_target' }))
})
