import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSetCookie, storeCookies, withCookies, type CookieJar } from './cookie-jar.ts'

/** A server that answers with these `Set-Cookie` lines in turn. */
function stage(...answers: (string[] | undefined)[]): {
  send(url: string, headers: Record<string, string>): Readonly<Record<string, string>>
  later(seconds: number): void
} {
  const jar: CookieJar = new Map()
  let now = 1000
  return {
    send(url, headers) {
      const sent = withCookies(jar, headers, url, now)
      storeCookies(jar, { headers: { 'set-cookie': answers.shift() } }, url, now)
      return sent
    },
    later: (seconds) => void (now += seconds),
  }
}

function cookiesSent(it: ReturnType<typeof stage>, url: string, headers = {}): string | undefined {
  const sent = it.send(url, headers)
  return sent['Cookie'] ?? sent['cookie']
}

describe('withCookies', () => {
  it('sends back what it got, to the same origin only', () => {
    const it = stage(['a=1', 'b=2; Path=/'])
    expect(cookiesSent(it, 'https://one.example/mcp')).toBeUndefined()
    expect(cookiesSent(it, 'https://one.example/other')).toBe('a=1; b=2')
    expect(cookiesSent(it, 'https://one.example:8443/mcp')).toBeUndefined()
    expect(cookiesSent(it, 'http://one.example/mcp')).toBeUndefined()
    expect(cookiesSent(it, 'https://sub.one.example/mcp')).toBeUndefined()
  })

  it('does not honour Domain', () => {
    const it = stage(['a=1; Domain=example; Path=/'])
    cookiesSent(it, 'https://one.example/')
    expect(cookiesSent(it, 'https://two.example/')).toBeUndefined()
    expect(cookiesSent(it, 'https://one.example/')).toBe('a=1')
  })

  it.each([
    ['/mcp', 'https://one.example/mcp', true],
    ['/mcp', 'https://one.example/mcp/deep', true],
    ['/mcp', 'https://one.example/mcp2', false],
    ['/mcp/', 'https://one.example/mcp/deep', true],
    ['/mcp/', 'https://one.example/mcp', false],
    ['/', 'https://one.example/', true],
  ])('Path=%s for %s: %s', async (path, url, sent) => {
    const it = stage([`a=1; Path=${path}`])
    cookiesSent(it, 'https://one.example/start')
    expect(cookiesSent(it, url)).toBe(sent ? 'a=1' : undefined)
  })

  it('sends the longer path first, and its own header before', () => {
    const it = stage(['short=1; Path=/', 'long=2; Path=/mcp'])
    cookiesSent(it, 'https://one.example/')
    expect(cookiesSent(it, 'https://one.example/mcp')).toBe('long=2; short=1')
    expect(cookiesSent(it, 'https://one.example/mcp', { cookie: 'own=0' })).toBe('own=0; long=2; short=1')
  })

  it('keeps Secure cookies to https and this computer', () => {
    for (const [origin, sent] of [
      ['http://one.example', undefined],
      ['http://localhost:1', 'a=1'],
      ['https://one.example', 'a=1'],
    ]) {
      const it = stage(['a=1; Secure; Path=/'])
      cookiesSent(it, `${origin}/`)
      expect(cookiesSent(it, `${origin}/`)).toBe(sent)
    }
  })

  it('replaces, expires and removes', () => {
    const it = stage(
      ['a=1; Path=/; Max-Age=10', 'b=1; Path=/'],
      ['a=2; Path=/; Max-Age=10'],
      ['b=; Path=/; Max-Age=0'],
    )
    cookiesSent(it, 'https://one.example/')
    expect(cookiesSent(it, 'https://one.example/')).toBe('a=1; b=1')
    expect(cookiesSent(it, 'https://one.example/')).toBe('b=1; a=2')
    expect(cookiesSent(it, 'https://one.example/')).toBe('a=2')
    it.later(10)
    expect(cookiesSent(it, 'https://one.example/')).toBeUndefined()
  })

  it('keeps a bounded number', () => {
    const it = stage(Array.from({ length: 60 }, (_, index) => `c${index}=1; Path=/`))
    cookiesSent(it, 'https://one.example/')
    const sent = String(cookiesSent(it, 'https://one.example/')).split('; ')
    expect(sent).toHaveLength(50)
    expect(sent).toContain('c59=1')
  })
})

const now = 1000

describe('parseSetCookie', () => {
  it.each([
    ['a=1', { name: 'a', value: '1', path: '/x', secure: false, expiresAt: undefined }],
    [' a = 1 ; HttpOnly; SameSite=Lax', { name: 'a', value: '1' }],
    ['a="q=u"', { name: 'a', value: '"q=u"' }],
    ['a=', { name: 'a', value: '' }],
    ['a=1; Path=/mcp; Secure', { path: '/mcp', secure: true }],
    ['a=1; path=mcp', { path: '/x' }],
    ['a=1; Path', { path: '/x' }],
    ['a=1; Path=/one; Path=/two', { path: '/two' }],
    ['a=1; Max-Age=60', { expiresAt: 1060 }],
    ['a=1; Max-Age=0', { expiresAt: 1000 }],
    ['a=1; Max-Age=-5', { expiresAt: 995 }],
    ['a=1; Max-Age=x', { expiresAt: undefined }],
    ['a=1; Expires=Thu, 01 Jan 1970 00:20:00 GMT', { expiresAt: 1200 }],
    ['a=1; Expires=Thu, 01-Jan-1970 00:20:00 GMT; Max-Age=1', { expiresAt: 1001 }],
    ['a=1; Expires=never', { expiresAt: undefined }],
  ])('%s', (line, expected) => expect(parseSetCookie(line, '/x/y', now)).toMatchObject(expected))

  it.each(['', '=1', 'a', ';a=1', `a=${'x'.repeat(4096)}`, 'a=1\u0001', 'a=é', 'a\n=1'])(
    'drops %j',
    (line) => {
      expect(parseSetCookie(line, '/', now)).toBeUndefined()
    },
  )

  it.each([
    ['/', '/'],
    ['/mcp', '/'],
    ['/a/mcp', '/a'],
    ['/a/b/', '/a/b'],
    ['', '/'],
  ])('the default path of %j is %s', (path, expected) => {
    expect(parseSetCookie('a=1', path, now)?.path).toBe(expected)
  })

  it('gives back nothing that cannot stand in a header', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (line) => {
        const cookie = parseSetCookie(line, '/', now)
        return cookie === undefined || /^[\x20-\x7E]+$/.test(`${cookie.name}=${cookie.value}`)
      }),
    )
  })
})
