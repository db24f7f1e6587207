import { describe, expect, test } from 'vitest'

import { encodeBase64url, encodeUtf8 } from '../base64url.ts'
import { readJwt } from './jwt.ts'

const part = (value: unknown): string => encodeBase64url(encodeUtf8(JSON.stringify(value)))
const text = (value: string): string => encodeBase64url(encodeUtf8(value))
const token = (claims: unknown, header: unknown = { alg: 'HS256' }): string =>
  `${part(header)}.${part(claims)}.c2ln`

// RFC 7519 section 3.1
const rfcExample =
  'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9' +
  '.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ' +
  '.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

test('RFC 7519 section 3.1: readJwt reads the header, the claims and the end of the example', () => {
  expect(readJwt(rfcExample)).toEqual({
    header: { typ: 'JWT', alg: 'HS256' },
    claims: { iss: 'joe', exp: 1_300_819_380, 'http://example.com/is_root': true },
    expiresAt: 1_300_819_380,
  })
})

describe('expiresAt is exp only if that is a number (RFC 7519 section 4.1.4)', () => {
  test.each([
    ['an integer', 4_102_444_800, 4_102_444_800],
    ['a fraction', 1.5, 1.5],
    ['a numeric string', '4102444800', undefined],
    ['missing', undefined, undefined],
  ])('readJwt reads the end of a token: %s', (_rule, exp, expiresAt) => {
    expect(readJwt(token({ exp }))).toMatchObject({ expiresAt })
  })

  test('an infinite number counts as none', () => {
    expect(readJwt(`${part({})}.${text('{"exp":1e999}')}.`)?.expiresAt).toBeUndefined()
  })
})

test.each([
  ['empty', ''],
  ['two parts', `${part({})}.${part({})}`],
  ['four parts', `${token({})}.`],
  ['an empty header', `.${part({})}.`],
  ['an empty payload', `${part({})}..`],
  ['padding in the header', `${btoa('{"a":1}')}=.${part({})}.`],
  ['the standard alphabet in the signature', `${part({})}.${part({})}.+/+/`],
  ['white space around it', ` ${token({})}`],
  ['a line end', `${token({})}\n`],
  ['a header that is not an object', token({}, ['HS256'])],
  ['a header that is not JSON', `${text('alg')}.${part({})}.`],
  ['claims that are a list', token([])],
  ['claims that are not UTF-8', `${part({})}.${encodeBase64url(new Uint8Array([0x7b, 0xff, 0x7d]))}.`],
])(
  'readJwt reads nothing but a compact JWS of JSON objects (RFC 7515 section 7.1): %s',
  (_rule, candidate) => {
    expect(readJwt(candidate)).toBeUndefined()
  },
)

test('an unsecured JWT has an empty signature and can be read (RFC 7519 section 6)', () => {
  expect(readJwt(`${part({ alg: 'none' })}.${part({ sub: 'x' })}.`)?.claims).toEqual({ sub: 'x' })
})

test('a __proto__ claim stays an own member and changes no prototype', () => {
  const claims = readJwt(`${part({})}.${text('{"__proto__":{"exp":1}}')}.`)
  expect(claims?.expiresAt).toBeUndefined()
  expect(Object.hasOwn(claims?.claims ?? {}, '__proto__')).toBe(true)
})
