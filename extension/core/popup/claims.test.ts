import { expect, test } from 'vitest'
import { readClaims } from './claims.ts'
import { jwt, now } from '../../../tests/support/extension/core/session-fixture.ts'

const values = (claims: object): Record<string, string> =>
  Object.fromEntries(readClaims(jwt(claims)).map(({ name, value }) => [name, value]))

test('claims are shown as text, in their order, and times as times', () => {
  const claims = readClaims(jwt({ app: { plan: 'pro' }, aud: ['a', 'b'], is_anonymous: false, aal: null }))
  expect(claims).toEqual([
    { name: 'iss', value: 'https://abc.supabase.co/auth/v1' },
    { name: 'sub', value: '11111111-2222-4333-8444-555555555555' },
    { name: 'email', value: 'ada@example.com' },
    { name: 'exp', value: String(now + 3600), at: now + 3600 },
    { name: 'app', value: '{"plan":"pro"}' },
    { name: 'aud', value: '["a","b"]' },
    { name: 'is_anonymous', value: 'false' },
    { name: 'aal', value: 'null' },
  ])
})

test('claims named like a secret are left out, at every depth', () => {
  const found = values({
    provider_token: 'SECRET',
    providerRefreshToken: 'SECRET',
    api_secret: 'SECRET',
    user_metadata: { name: 'Ada', accessToken: 'SECRET', list: [{ password: 'SECRET', kept: 1 }] },
  })
  expect(JSON.stringify(found)).not.toContain('SECRET')
  expect(found['user_metadata']).toBe('{"name":"Ada","list":[{"kept":1}]}')
})

test.each([
  ['wrong types', { email: { a: 1 }, sub: 5, iss: ['x'], exp: 'soon', iat: '1' }],
  ['an end that no date can hold', { exp: 1e300, iat: -1e300 }],
])('reading claims survives %s', (_case, claims) => {
  const shown = readClaims(jwt(claims))
  for (const { at = 0 } of shown) {
    expect(typeof at).toBe('number')
    expect(Number.isNaN(new Date(at * 1000).getTime())).toBe(false)
  }
})

test('at most forty claims are shown, each shortened', () => {
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`claim${index}${'n'.repeat(500)}`, 'v'.repeat(5000)]),
  )
  const claims = readClaims(jwt(many))
  expect(claims).toHaveLength(40)
  expect(JSON.stringify(claims).length).toBeLessThan(40 * 350)
})

test.each(['', 'opaque', 'a.b.c', 'mcpa_0123456789'])(
  'no claims of %j, which is not a JWT, are shown',
  (token) => {
    expect(readClaims(token)).toEqual([])
  },
)
