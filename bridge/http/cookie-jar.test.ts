import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { CookieJar } from './cookie-jar.ts'

const now = 1000

/** Returns the `Cookie` header after responses with these `Set-Cookie` lines, each in one of its own. */
function sentAfter(lines: string[], { headers = {}, at = now } = {}): string | undefined {
  const jar = new CookieJar()
  for (const line of lines) jar.store({ headers: { 'set-cookie': [line] } }, now)
  const sent = jar.withCookies(headers, at)
  return sent['Cookie'] ?? sent['cookie']
}

it.each([
  [['a=1', 'b=2; Path=/; HttpOnly; SameSite=Lax'], 'a=1; b=2'],
  [['a=1; Domain=example'], 'a=1'],
  [[' a = 1 '], 'a=1'],
  [['a="q=u"'], 'a="q=u"'],
  [['a='], 'a='],
  [['a=1', 'b=1', 'a=2'], 'b=1; a=2'],
  [['a=1', 'a=; Max-Age=0'], undefined],
  [['a=1; Max-Age=-5'], undefined],
  [['a=1; Max-Age=x'], 'a=1'],
  [['a=1; Expires=Thu, 01 Jan 1970 00:10:00 GMT'], undefined],
  [['a=1; Expires=Thu, 01-Jan-1970 00:10:00 GMT; Max-Age=1'], 'a=1'],
  [['a=1; Expires=never'], 'a=1'],
])('the cookie jar sends back what it got: %j', (lines, sent) => expect(sentAfter(lines)).toBe(sent))

it.each(['', '=1', 'a', ';a=1', `a=${'x'.repeat(4096)}`, 'a=1\u0001', 'a=é', 'a\n=1'])(
  'the cookie jar drops %j',
  (line) => expect(sentAfter([line])).toBeUndefined(),
)

it.each([
  ['a=1; Max-Age=10', 9, 'a=1'],
  ['a=1; Max-Age=10', 10, undefined],
  ['a=1; expires=Thu, 01 Jan 1970 00:20:00 GMT', 199, 'a=1'],
  ['a=1; expires=Thu, 01 Jan 1970 00:20:00 GMT', 200, undefined],
])('the cookie jar with %s, %d s later, sends: %s', (line, seconds, sent) => {
  expect(sentAfter([line], { at: now + seconds })).toBe(sent)
})

it('the cookie jar puts the cookies of the jar behind those of a given Cookie header', () => {
  expect(sentAfter(['a=1'], { headers: { cookie: 'own=0' } })).toBe('own=0; a=1')
})

it('the cookie jar keeps the newest cookies up to a bound', () => {
  const sent = sentAfter(Array.from({ length: 60 }, (_, index) => `c${index}=1`))?.split('; ')
  expect(sent).toHaveLength(50)
  expect(sent).toContain('c59=1')
})

it('the cookie jar returns no cookie that is invalid in a header', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (line) => {
      expect(sentAfter([line]) ?? 'a').toMatch(/^[\x20-\x7E]+$/)
    }),
  )
})
