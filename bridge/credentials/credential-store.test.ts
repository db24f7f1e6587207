import { expect, it } from 'vitest'
import { isLoginId, loginId } from './credential-store.ts'

const parts = { serverUrl: 'https://a.test/mcp', profile: 'default' }

it.each([
  'https://A.test/mcp',
  'https://a.test:443/mcp',
  'https://a.test/mcp/',
  'https://a.test/mcp#x',
  'https://a.test/mcp?sign-in',
])('the id of a login is the same for %s', (serverUrl) => {
  expect(loginId({ ...parts, serverUrl })).toBe(loginId(parts))
})

it.each([
  { serverUrl: 'https://a.test/other' },
  { serverUrl: 'https://a.test/MCP' },
  { serverUrl: 'http://a.test/mcp' },
  { serverUrl: 'https://a.test/mcp?tenant=1' },
  { serverUrl: 'https://a.test/mcp?sign-in=1' },
  { serverUrl: 'https://a.test:444/mcp' },
  { resource: 'https://a.test' },
  { staticClient: { clientId: 'c' } },
  { profile: 'work' },
])('the id of a login differs with %o', (other) => {
  expect(loginId({ ...parts, ...other })).not.toBe(loginId(parts))
})

it('the id of a login keeps its parts apart', () => {
  const first = loginId({ ...parts, resource: 'a', staticClient: { clientId: 'b' } })
  expect(loginId({ ...parts, resource: 'a","b' })).not.toBe(first)
  expect(loginId({ ...parts, resource: undefined, staticClient: { clientId: 'b' } })).not.toBe(
    loginId({ ...parts, resource: 'b' }),
  )
})

it('the id of a login differs from other file names', () => {
  expect(isLoginId(loginId(parts))).toBe(true)
  for (const other of ['', 'index', '../../x', loginId(parts).toUpperCase(), `${loginId(parts)}.tmp`]) {
    expect(isLoginId(other)).toBe(false)
  }
})
