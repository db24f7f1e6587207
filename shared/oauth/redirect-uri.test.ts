import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import {
  isLoopbackHostname,
  matchRedirectUri,
  redirectHost,
  redirectUriRefusal,
  type RedirectUriRefusal,
} from './redirect-uri.ts'

const cursor = 'cursor://anysphere.cursor-mcp/oauth/callback'
const privateUse = [cursor, 'com.example.app:/callback', 'javascript:alert(1)', 'data:text/html,x']

test.each([
  ['localhost', true],
  ['LOCALHOST', true],
  ['127.0.0.1', true],
  ['127.255.255.255', true],
  ['[::1]', true],
  ['::1', true],
  ['', false],
  ['localhost.', false],
  ['localhost.example.com', false],
  ['my.localhost', false],
  ['127.0.0.1.example.com', false],
  ['127.0.0.256', false],
  ['127.0.0.01', false],
  ['2130706433', false],
  ['0x7f.0.0.1', false],
  ['128.0.0.1', false],
  ['1127.0.0.1', false],
  ['0.0.0.0', false],
  ['[::ffff:127.0.0.1]', false],
  ['127.0.0.1\n', false],
  ['１２７.0.0.1', false],
])('isLoopbackHostname of %j is %j (RFC 8252 sections 7.3 and 8.3)', (hostname, loopback) => {
  expect(isLoopbackHostname(hostname)).toBe(loopback)
})

test.each([
  ['RFC 8252 7.2: https (RFC 8252 section 7.2)', 'https://app.example.com/callback'],
  ['https with a port', 'https://app.example.com:8443/callback'],
  ['https with a query (RFC 6749 section 3.1.2)', 'https://app.example.com/callback?tenant=1&x=%20'],
  ['https without a path', 'https://app.example.com'],
  ['https on an IP address', 'https://192.0.2.1/cb'],
  ['https on a punycode host', 'https://xn--bcher-kva.example/cb'],
  ['an upper-case scheme (RFC 3986 section 3.1)', 'HTTPS://app.example.com/cb'],
  ['an at sign in the path', 'https://app.example.com/@user/cb'],
  ['a whole address in the query', 'https://app.example.com/cb?next=https://user@b.example/'],
  ['http on 127.0.0.1 (RFC 8252 section 7.3)', 'http://127.0.0.1:3334/oauth/callback'],
  ['http on localhost (RFC 8252 section 8.3)', 'http://localhost:1234/callback'],
  ['http on loopback without a port', 'http://localhost/callback'],
  ['an allowed private-use URI (RFC 8252 section 7.1)', cursor],
  ['an allowed private-use URI without authority', 'com.example.app:/callback'],
  ['2048 characters', `https://a.example/${'a'.repeat(2048 - 18)}`],
])('a registration accepts: %s', (_rule, uri) => {
  expect(redirectUriRefusal(uri, privateUse)).toBeUndefined()
})

describe('a registration refuses', () => {
  test.each<[string, string, RedirectUriRefusal]>([
    ['2049 characters', `https://a.example/${'a'.repeat(2049 - 18)}`, 'too-long'],
    ['a space', 'https://a.example/a b', 'forbidden-character'],
    ['a trailing line end', 'https://a.example/\n', 'forbidden-character'],
    ['a tab inside the scheme', 'java\tscript:alert(1)', 'forbidden-character'],
    ['a backslash', String.raw`https://a.example\@evil.example/`, 'forbidden-character'],
    ['a quote', 'https://a.example/"><script>', 'forbidden-character'],
    ['non-ASCII', 'https://bücher.example/cb', 'forbidden-character'],
    ['empty', '', 'not-absolute'],
    ['a path', '/callback', 'not-absolute'],
    ['a host without a scheme', 'a.example/callback', 'not-absolute'],
    ['https without slashes', 'https:a.example/cb', 'not-absolute'],
    ['https with three slashes', 'https:///a.example/cb', 'not-absolute'],
    ['https without a host', 'https://', 'not-absolute'],
    ['a bad port', 'https://a.example:99999/', 'not-absolute'],
    ['a wildcard port', 'http://localhost:*/cb', 'not-absolute'],
    ['a fragment (RFC 6749 section 3.1.2)', 'https://a.example/cb#x', 'fragment'],
    ['an empty fragment', 'https://a.example/cb#', 'fragment'],
    ['a fragment in a private-use URI', `${cursor}#x`, 'fragment'],
    ['user information', 'https://user:pass@a.example/', 'user-information'],
    ['empty user information', 'https://@a.example/', 'user-information'],
    ['loopback as a user name', 'http://localhost@evil.example/', 'user-information'],
    ['javascript', 'javascript:alert(1)', 'dangerous-scheme'],
    ['javascript in mixed case', 'JavaScript:alert(1)', 'dangerous-scheme'],
    ['data', 'data:text/html,x', 'dangerous-scheme'],
    ['file', 'file:///etc/passwd', 'dangerous-scheme'],
    ['an Android intent', 'intent://a.example/#Intent;end', 'dangerous-scheme'],
    ['http on a public host (OAuth 2.1 section 2.3)', 'http://a.example/cb', 'insecure-http'],
    ['http on a host that starts like loopback', 'http://localhost.evil.example/', 'insecure-http'],
    ['http on a host that starts like 127', 'http://127.0.0.1.evil.example/', 'insecure-http'],
    ['loopback as one number', 'http://2130706433/callback', 'insecure-http'],
    ['localhost, percent-encoded', 'http://%6cocalhost/callback', 'insecure-http'],
    ['upper-case http on a public host', 'HTTP://a.example/', 'insecure-http'],
    ['an unknown private-use scheme', 'evil://x/y', 'private-use-scheme'],
    ['a scheme that starts like http', 'httpx://localhost/cb', 'private-use-scheme'],
    ['a scheme that ends like http', 'xhttp://localhost/cb', 'private-use-scheme'],
    ['another path of an allowed scheme', `${cursor}/x`, 'private-use-scheme'],
    ['a query added to an allowed entry', `${cursor}?x=1`, 'private-use-scheme'],
    ['an allowed entry in another case', cursor.replace('cursor:', 'CURSOR:'), 'private-use-scheme'],
    ['the out-of-band URN', 'urn:ietf:wg:oauth:2.0:oob', 'private-use-scheme'],
  ])('a registration refuses %s', (_rule, uri, reason) => {
    expect(redirectUriRefusal(uri, privateUse)).toBe(reason)
  })

  test('a registration refuses private-use URIs when the list is empty', () => {
    expect(redirectUriRefusal(cursor, [])).toBe('private-use-scheme')
  })

  it('checking a redirect URI never throws, and accepts only URIs that a URL parser reads as https, loopback or listed', () => {
    const schemes = ['http', 'https', 'cursor', 'javascript', ':', '//', '/']
    const hosts = ['[::1]', 'localhost', '127.0.0.1', 'evil.example', '.', ':80', '[', ']']
    const marks = ['@', '#', '?', '%', '\\', '\t', ' ', 'é']
    const pieces = fc.constantFrom(...schemes, ...hosts, ...marks)
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (list) => {
        const uri = list.join('')
        if (redirectUriRefusal(uri, privateUse) !== undefined) return
        const { protocol, hostname, username, hash } = new URL(uri)
        expect([username, hash]).toEqual(['', ''])
        expect(protocol === 'https:' || isLoopbackHostname(hostname) || privateUse.includes(uri)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('matchRedirectUri', () => {
  test.each<[string, string, string, boolean]>([
    ['equal (OAuth 2.1 section 2.3.1)', 'https://a.example/cb', 'https://a.example/cb', true],
    ['a longer host', 'https://a.example', 'https://a.example.evil.example', false],
    ['a host behind user information', 'https://a.example', 'https://a.example@evil.example/', false],
    ['dot segments behind the path', 'https://a.example/cb', 'https://a.example/cb/../../evil', false],
    ['a trailing slash', 'https://a.example/cb', 'https://a.example/cb/', false],
    ['the empty path and the root', 'https://a.example', 'https://a.example/', false],
    ['an added fragment', 'https://a.example/cb', 'https://a.example/cb#a', false],
    ['another case of the host', 'https://a.example/cb', 'https://A.example/cb', false],
    ['percent-encoding', 'https://a.example/cb', 'https://a.example/%63b', false],
    ['the default port', 'https://a.example/cb', 'https://a.example:443/cb', false],
    ['https on loopback keeps its port', 'https://localhost:1/cb', 'https://localhost:2/cb', false],
    [
      'OAuth 2.1 8.4.2: another port on 127.0.0.1 (RFC 8252 section 7.3)',
      'http://127.0.0.1:1/cb',
      'http://127.0.0.1:2/cb',
      true,
    ],
    ['a port where none was registered', 'http://127.0.0.1/cb', 'http://127.0.0.1:54321/cb', true],
    ['no port where one was registered', 'http://127.0.0.1:1/cb', 'http://127.0.0.1/cb', true],
    ['another port on localhost', 'http://localhost/cb', 'http://localhost:65535/cb', true],
    ['another port on [::1]', 'http://[::1]:1/cb', 'http://[::1]:2/cb', true],
    ['another port, with the query', 'http://localhost:1/cb?a=1', 'http://localhost:2/cb?a=1', true],
    ['localhost is not 127.0.0.1', 'http://localhost:1/cb', 'http://127.0.0.1:1/cb', false],
    ['[::1] is not 127.0.0.1', 'http://[::1]:1/cb', 'http://127.0.0.1:1/cb', false],
    ['loopback, another path', 'http://localhost:1/cb', 'http://localhost:2/cb2', false],
    ['loopback, another query', 'http://localhost:1/cb?a=1', 'http://localhost:2/cb?a=2', false],
    ['loopback, an added fragment', 'http://localhost:1/cb', 'http://localhost:2/cb#a', false],
    ['loopback, a query in place of the path', 'http://localhost:1/cb', 'http://localhost:2?cb', false],
    ['loopback, https in place of http', 'http://localhost:1/cb', 'https://localhost:2/cb', false],
    ['loopback, upper-case scheme', 'http://localhost:1/cb', 'HTTP://localhost:2/cb', false],
    ['loopback, a port that is not a number', 'http://localhost/cb', 'http://localhost:a/cb', false],
    ['loopback, a port out of range', 'http://localhost/cb', 'http://localhost:65536/cb', false],
    ['loopback, two ports', 'http://localhost/cb', 'http://localhost:1:2/cb', false],
    ['loopback, an empty port', 'http://localhost/cb', 'http://localhost:/cb', false],
    ['loopback as a user name', 'http://localhost/cb', 'http://localhost:1@evil.example/cb', false],
    ['a host that ends like loopback', 'http://localhost/cb', 'http://evil.localhost:1/cb', false],
    [
      'a backslash before another host',
      'http://localhost/cb',
      String.raw`http://localhost:1\@evil.example/cb`,
      false,
    ],
    ['a line end in the path', 'http://localhost/cb', 'http://localhost:1/cb\n', false],
    ['http on a public host keeps its port', 'http://a.example:1/cb', 'http://a.example:2/cb', false],
    ['a scheme that ends like http', 'xhttp://localhost:1/cb', 'xhttp://localhost:2/cb', false],
    ['private use is exact', cursor, `${cursor}/`, false],
  ])('matchRedirectUri compares with the registered URIs: %s', (_rule, registered, presented, matches) => {
    expect(matchRedirectUri([registered], presented)).toBe(matches)
    expect(matchRedirectUri(['https://other.example/', registered], presented)).toBe(matches)
  })

  test('no redirect URI matches when none is registered', () => {
    expect(matchRedirectUri([], 'http://localhost/cb')).toBe(false)
    expect(matchRedirectUri([], '')).toBe(false)
  })

  it('matching URIs have the same scheme, host, path and query, for all pairs of awkward URIs', () => {
    const hosts = ['localhost', '127.0.0.1', '[::1]', 'a.example']
    const ports = ['', ':', ':1', ':8080', ':99999', ':1@evil.example', '@evil.example']
    const rests = ['', '/', '/cb', '/cb?x', '?x', '#x', '/../cb']
    const uris = ['http', 'https'].flatMap((scheme) =>
      hosts.flatMap((host) =>
        ports.flatMap((port) => rests.map((rest) => `${scheme}://${host}${port}${rest}`)),
      ),
    )
    const target = (uri: string): string => {
      const { protocol, username, hostname, pathname, search, hash } = new URL(uri)
      return [protocol, username, hostname, pathname, search, hash].join(' ')
    }
    let matches = 0
    for (const registered of uris) {
      for (const presented of uris) {
        if (registered === presented || !matchRedirectUri([registered], presented)) continue
        matches++
        expect(target(presented)).toBe(target(registered))
      }
    }
    // 3 hosts, 6 paths without fragment, 3 ports: 6 ordered pairs of different ports each.
    expect(matches).toBe(3 * 6 * 6)
  })
})

test.each([
  ['https://app.example.com/callback?x=1', 'app.example.com'],
  ['https://app.example.com:443/', 'app.example.com'],
  ['https://app.example.com:8443/', 'app.example.com:8443'],
  ['http://127.0.0.1:3334/cb', '127.0.0.1:3334'],
  ['http://[::1]:1/', '[::1]:1'],
  ['https://bücher.example/', 'xn--bcher-kva.example'],
  ['https://аpple.example/', 'xn--pple-43d.example'],
  ['https://user@evil.example/', 'evil.example'],
  [cursor, 'cursor:'],
  ['com.example.app:/callback', 'com.example.app:'],
  ['not a url', ''],
  ['', ''],
])('redirectHost shows for %s the host %j', (uri, host) => {
  expect(redirectHost(uri)).toBe(host)
})
