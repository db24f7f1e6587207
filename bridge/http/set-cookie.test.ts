import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseSetCookie } from './set-cookie.ts'

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
