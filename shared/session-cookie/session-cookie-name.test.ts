import { describe, expect, test } from 'vitest'

import {
  defaultSessionCookieName,
  findSessionCookieNames,
  isSessionCookieName,
} from './session-cookie-name.ts'

describe('isSessionCookieName: what the client libraries call a chunk', () => {
  test.each<[string, boolean]>([
    ['key', true],
    ['key.0', true],
    ['key.10', true],
    ['key.123456789012345678901234567890', true],
    ['key.', false],
    ['key.01', false],
    ['key.1a', false],
    ['key.-1', false],
    ['key.0.0', false],
    ['key.1e1', false],
    ['key.1\n', false],
    ['key.١', false],
    ['Key', false],
    ['key-code-verifier', false],
    ['xkey', false],
    ['ke', false],
  ])('the cookie name %j belongs to key: %j', (cookieName, belongs) => {
    expect(isSessionCookieName(cookieName, { name: 'key' })).toBe(belongs)
  })

  test('a base name may itself look like a chunk or a pattern', () => {
    expect(isSessionCookieName('a.0', { name: 'a.0' })).toBe(true)
    expect(isSessionCookieName('a.0.1', { name: 'a.0' })).toBe(true)
    expect(isSessionCookieName('a.0.1', { name: 'a' })).toBe(false)
    expect(isSessionCookieName('axb.0', { name: 'a.b' })).toBe(false)
    expect(isSessionCookieName('sb-[::1]-auth-token.2', { name: 'sb-[::1]-auth-token' })).toBe(true)
  })
})

describe('findSessionCookieNames: what a popup lists', () => {
  test.each<[string, string[], string[]]>([
    ['nothing', [], []],
    ['one whole cookie', ['sb-abc-auth-token'], ['abc']],
    ['chunks count once', ['sb-abc-auth-token.0', 'sb-abc-auth-token.1', 'sb-abc-auth-token'], ['abc']],
    ['a later chunk alone is listed, to be shown as broken', ['sb-abc-auth-token.7'], ['abc']],
    ['order of first appearance', ['sb-b-auth-token.1', 'sb-a-auth-token', 'sb-b-auth-token.0'], ['b', 'a']],
    [
      'local projects',
      ['sb-127-auth-token', 'sb-localhost-auth-token', 'sb-[::1]-auth-token'],
      ['127', 'localhost', '[::1]'],
    ],
    ['a ref that ends like the name', ['sb-x-auth-token-auth-token'], ['x-auth-token']],
    ['a ref with a dot', ['sb-a.0-auth-token.1'], ['a.0']],
    ['awkward refs', ['sb-__proto__-auth-token', 'sb-constructor-auth-token'], ['__proto__', 'constructor']],
    [
      'neighbours are not sessions',
      [
        'sb-abc-auth-token-code-verifier',
        'sb-abc-auth-token-flow-12345678-code-verifier',
        'sb-abc-auth-token-flows-code-verifier',
        'sb-abc-auth-token-user',
      ],
      [],
    ],
    ['wrong chunk numbers', ['sb-abc-auth-token.', 'sb-abc-auth-token.00', 'sb-abc-auth-token.1a'], []],
    ['the pattern is anchored', ['xsb-abc-auth-token', 'sb-abc-auth-tokens', ' sb-abc-auth-token'], []],
    ['no ref', ['sb--auth-token', 'sb-auth-token'], []],
    ['case-sensitive', ['SB-ABC-AUTH-TOKEN', 'sb-abc-Auth-token'], []],
    ['the split cookies of old releases', ['sb-access-token', 'sb-refresh-token', 'supabase-auth-token'], []],
  ])('findSessionCookieNames finds each name once: %s', (_rule, names, refs) => {
    expect(findSessionCookieNames(names)).toEqual(
      refs.map((projectRef) => ({ name: `sb-${projectRef}-auth-token`, projectRef })),
    )
  })

  test('a name of 100000 characters is answered', () => {
    expect(findSessionCookieNames([`sb-${'-auth-token'.repeat(10_000)}.`])).toEqual([])
  })
})

describe('defaultSessionCookieName: first label of the host', () => {
  test.each([
    ['https://abcdefghijklmnopqrst.supabase.co', 'sb-abcdefghijklmnopqrst-auth-token'],
    ['https://abcdefghijklmnopqrst.supabase.co/auth/v1', 'sb-abcdefghijklmnopqrst-auth-token'],
    ['http://127.0.0.1:54321', 'sb-127-auth-token'],
    ['https://auth.example.com', 'sb-auth-auth-token'],
    ['https://API.Example.com', 'sb-api-auth-token'],
    ['https://bücher-x.example', 'sb-xn--bcher-x-n2a-auth-token'],
    ['http://[::1]:54321', 'sb-[::1]-auth-token'],
  ])('the default cookie name of %s is %s', (url, name) => {
    expect(defaultSessionCookieName(url)).toBe(name)
    expect(findSessionCookieNames([name])).toHaveLength(1)
  })

  test('the default cookie name of a text that is not a URL throws', () => {
    expect(() => defaultSessionCookieName('abc.supabase.co')).toThrow(TypeError)
  })
})
