import { expect, it } from 'vitest'
import { chooseRedirectTarget } from './social-flow.ts'

const siteUrl = 'https://app.example.com'
const rule = {
  siteUrl,
  redirectAllowList: ['https://mcp.example.com/oauth/callback', 'com.example.app://callback'],
}

it.each([
  ['the site itself', 'https://app.example.com/anything?x=1#y', true],
  ['the site on another port', 'https://app.example.com:8443/', false],
  ['the site without TLS', 'http://app.example.com/', false],
  ['listed', 'https://mcp.example.com/oauth/callback', true],
  ['listed, with a fragment', 'https://mcp.example.com/oauth/callback#x', true],
  ['listed, with a query', 'https://mcp.example.com/oauth/callback?x=1', false],
  ['listed as a part', 'https://evil.example/?https://mcp.example.com/oauth/callback', false],
  ['a listed private scheme', 'com.example.app://callback', true],
  ['a loopback address', 'http://127.0.0.1:4711/callback', true],
  ['the IPv6 loopback address', 'http://[::1]:4711/callback', true],
  ['localhost, which is a name', 'http://localhost:4711/callback', false],
  ['another IP address', 'https://192.0.2.1/callback', false],
  ['after a control character', '\thttps://app.example.com/', false],
  ['no URL', 'not a URL', false],
])('a redirect_to that is %s (%j) is allowed: %s', (_, wanted, isAllowed) => {
  expect(chooseRedirectTarget(rule, wanted)).toBe(isAllowed ? wanted : siteUrl)
})

it('a site on localhost may name any port', () => {
  const local = { siteUrl: 'http://localhost:8788', redirectAllowList: [] }
  const wanted = 'http://localhost:8787/oauth/callback'
  expect(chooseRedirectTarget(local, wanted)).toBe(wanted)
  expect(chooseRedirectTarget(local, 'https://localhost:8787/')).toBe(local.siteUrl)
})
