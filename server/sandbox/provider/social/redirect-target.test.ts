import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseRedirectTarget, matchesGlob } from './redirect-target.ts'

const SITE_URL = 'https://app.example.com'
const rule = {
  siteUrl: SITE_URL,
  allowList: [
    'https://mcp.example.com/oauth/callback',
    'https://*.preview.example.com/**',
    'com.example.app://callback',
  ],
}

describe('a redirect_to', () => {
  it.each([
    { wanted: 'https://app.example.com/anything?x=1#y', allowed: true, why: 'the site itself' },
    { wanted: 'https://app.example.com:8443/', allowed: false, why: 'the site on another port' },
    { wanted: 'http://app.example.com/', allowed: false, why: 'the site without TLS' },
    { wanted: 'https://mcp.example.com/oauth/callback', allowed: true, why: 'listed exactly' },
    {
      wanted: 'https://mcp.example.com/oauth/callback#x',
      allowed: true,
      why: 'listed, the fragment does not count',
    },
    {
      wanted: 'https://mcp.example.com/oauth/callback?x=1',
      allowed: false,
      why: 'listed, but the query counts',
    },
    { wanted: 'https://mcp.example.com/oauth/callback/', allowed: false, why: 'listed without the slash' },
    { wanted: 'https://one.preview.example.com/a/b?c=d.e', allowed: true, why: 'matched by a glob' },
    { wanted: 'https://one.two.preview.example.com/a', allowed: false, why: 'a star stops at a dot' },
    {
      wanted: 'https://evil.example/?https://mcp.example.com/oauth/callback',
      allowed: false,
      why: 'listed as a part only',
    },
    { wanted: 'com.example.app://callback', allowed: true, why: 'a listed private scheme' },
    { wanted: 'http://127.0.0.1:4711/callback', allowed: true, why: 'a loopback address' },
    { wanted: 'http://[::1]:4711/callback', allowed: true, why: 'the IPv6 loopback address' },
    { wanted: 'http://localhost:4711/callback', allowed: false, why: 'localhost is a name, not an address' },
    { wanted: 'https://192.0.2.1/callback', allowed: false, why: 'another IP address' },
    { wanted: 'https://2130706433/callback', allowed: false, why: 'an address in decimal' },
    { wanted: '\thttps://app.example.com/', allowed: false, why: 'a control character' },
    { wanted: 'not a URL', allowed: false, why: 'no URL' },
    { wanted: '', allowed: false, why: 'empty' },
  ])('that is $why is allowed: $allowed', ({ wanted, allowed }) => {
    expect(chooseRedirectTarget(rule, wanted, undefined)).toBe(allowed ? wanted : SITE_URL)
  })

  it('may name any port of a site on localhost', () => {
    const local = { siteUrl: 'http://localhost:8788', allowList: [] }
    const wanted = 'http://localhost:8787/oauth/callback'
    expect(chooseRedirectTarget(local, wanted, undefined)).toBe(wanted)
    expect(chooseRedirectTarget(local, 'https://localhost:8787/', undefined)).toBe(local.siteUrl)
  })

  it.each([
    {
      wanted: 'https://evil.example/',
      referer: 'https://app.example.com/login',
      target: 'https://app.example.com/login',
    },
    { wanted: 'https://evil.example/', referer: 'https://evil.example/', target: SITE_URL },
    { wanted: undefined, referer: undefined, target: SITE_URL },
  ])('of $wanted with Referer $referer ends at $target', ({ wanted, referer, target }) => {
    expect(chooseRedirectTarget(rule, wanted, referer)).toBe(target)
  })
})

describe('a glob', () => {
  it.each([
    ['https://a.example/*', 'https://a.example/x', true],
    ['https://a.example/*', 'https://a.example/x/y', false],
    ['https://a.example/*', 'https://a.example/x.y', false],
    ['https://a.example/**', 'https://a.example/x/y.z?q', true],
    ['https://a.example/?', 'https://a.example/x', true],
    ['https://a.example/?', 'https://a.example/', false],
    ['https://a.example', 'https://axexample', false],
    ['https://a.example/(x)', 'https://a.example/x', false],
    ['https://a.example/[x]', 'https://a.example/[x]', true],
  ])('%s and %s: %s', (glob, url, matches) => {
    expect(matchesGlob(glob, url)).toBe(matches)
  })
})

describe('for any input', () => {
  it('a URL without marks matches itself only', () => {
    fc.assert(
      fc.property(fc.webUrl(), fc.webUrl(), (one, two) => {
        fc.pre(!one.includes('*') && !one.includes('?'))
        expect(matchesGlob(one, one)).toBe(true)
        expect(matchesGlob(one, two)).toBe(one === two)
      }),
    )
  })

  it('the target is the wanted URL, the Referer or the site, and never a foreign host', () => {
    const url = fc.oneof(
      fc.webUrl(),
      fc.string(),
      fc.webUrl().map((text) => `${SITE_URL}@${text.slice(8)}`),
    )
    fc.assert(
      fc.property(url, fc.option(url, { nil: undefined }), (wanted, referer) => {
        const target = chooseRedirectTarget({ siteUrl: SITE_URL, allowList: [] }, wanted, referer)
        expect([wanted, referer, SITE_URL]).toContain(target)
        expect(['app.example.com', '127.0.0.1', '[::1]']).toContain(new URL(target).hostname)
      }),
    )
  })
})
