import { expect, test } from 'vitest'
import { jwt } from '../../../tests/support/extension/core/session-fixture.ts'
import { readTokenFacts } from './token-facts.ts'

test('account and issuer are read from a token', () => {
  expect(readTokenFacts(jwt())).toMatchObject({ account: 'ada@example.com', issuer: 'abc.supabase.co' })
  expect(readTokenFacts(jwt({ email: undefined })).account).toBe('11111111-2222-4333-8444-555555555555')
  expect(readTokenFacts(jwt({ email: '' })).account).toBe('11111111-2222-4333-8444-555555555555')
  expect(readTokenFacts(jwt({ iss: 'http://user:pw@127.0.0.1:54321/auth' })).issuer).toBe('127.0.0.1:54321')
  expect(readTokenFacts(jwt({ iss: 'urn:issuer' })).issuer).toBe('urn:issuer')
  expect(readTokenFacts(jwt({ iss: 'issuer' })).issuer).toBe('issuer')
})

test.each([
  { email: { a: 1 }, sub: 5, iss: ['x'] },
  { email: null, sub: null, iss: null },
])('claims of other types are ignored: %j', (claims) => {
  expect(readTokenFacts(jwt(claims))).toEqual({ account: undefined, issuer: undefined })
})

test.each(['', 'opaque', 'a.b.c'])('nothing is known of %j, which is not a JWT', (token) => {
  expect(readTokenFacts(token)).toEqual({ account: undefined, issuer: undefined })
})
