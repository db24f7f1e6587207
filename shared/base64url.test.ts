import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import { decodeBase64Lenient, decodeBase64url, decodeUtf8, encodeBase64url, encodeUtf8 } from './base64url.ts'

/** Any Unicode character. */
const character = fc
  .integer({ min: 0, max: 0x10_ffff - 0x800 })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800))

const urlAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const bytesOf = (text: string | undefined): Uint8Array => encodeUtf8(text ?? '')

describe('RFC 4648 section 10 test vectors, without padding', () => {
  test.each([
    ['', ''],
    ['f', 'Zg'],
    ['fo', 'Zm8'],
    ['foo', 'Zm9v'],
    ['foob', 'Zm9vYg'],
    ['fooba', 'Zm9vYmE'],
    ['foobar', 'Zm9vYmFy'],
  ])('base64url of %j is %j', (text, encoded) => {
    expect(encodeBase64url(encodeUtf8(text))).toBe(encoded)
    expect(decodeBase64url(encoded)).toEqual(bytesOf(text))
    expect(decodeBase64Lenient(encoded)).toEqual(bytesOf(text))
  })

  test('base64url has its character for every sextet (section 5, table 2)', () => {
    const bytes = decodeBase64url(urlAlphabet)
    expect(bytes).toHaveLength(48)
    expect(encodeBase64url(bytes ?? new Uint8Array())).toBe(urlAlphabet)
  })
})

describe('decodeBase64url is strict', () => {
  test.each([
    ['padding (section 3.2)', 'Zg=='],
    ['characters outside the alphabet (section 3.3)', 'Zm9v!'],
    ['the other alphabet: plus', '+w'],
    ['white space', 'Zm 9v'],
    ['an impossible length', 'Zm9vY'],
    ['unused bits of one byte set (section 3.5)', 'Zh'],
    ['unused bits of two bytes set (section 3.5)', 'Zm9'],
    ['non-ASCII', 'Zm9é'],
    ['a full-width letter', 'ＡＡＡＡ'],
  ])('decodeBase64url refuses %s', (_rule, text) => {
    expect(decodeBase64url(text)).toBeUndefined()
  })

  it('decoding accepts every encoded byte string, and no other text for the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = encodeBase64url(bytes)
        expect(text).toMatch(/^[A-Za-z0-9\-_]*$/)
        expect(decodeBase64url(text)).toEqual(bytes)
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from(urlAlphabet)), maxLength: 40 }), (text) => {
        const bytes = decodeBase64url(text)
        if (bytes !== undefined) expect(encodeBase64url(bytes)).toBe(text)
      }),
    )
  })
})

describe('decodeBase64Lenient', () => {
  test.each([
    ['padding', 'Zm8=', 'fo'],
    ['padding in the middle', 'Zg==Zg==', 'f\u0006`'],
    ['the standard alphabet', '+/8', undefined],
    ['white space anywhere', ' Z\tm\n9\rv\f ', 'foo'],
    ['unused bits', 'Zh', 'f'],
    ['a lone last character', 'Zm9vY', 'foo'],
    ['nothing but ignored characters', '= =\n', ''],
  ])('decodeBase64Lenient accepts %s', (_rule, text, decoded) => {
    const bytes = decodeBase64Lenient(text)
    expect(bytes).toBeDefined()
    if (decoded !== undefined) expect(bytes).toEqual(Uint8Array.from(decoded, (unit) => unit.charCodeAt(0)))
  })

  test('decodeBase64Lenient gives the same bytes for both alphabets, also mixed', () => {
    const bytes = new Uint8Array([0xfb, 0xff, 0xfe, 0xfb, 0xff, 0xfe])
    expect(decodeBase64Lenient('-__--__-')).toEqual(bytes)
    expect(decodeBase64Lenient('+//++//+')).toEqual(bytes)
    expect(decodeBase64Lenient('+__-+//-')).toEqual(bytes)
  })

  test.each(['!', 'Zm9v.', 'Zm9v%3D', '"Zm9v"', 'Zm9v\v', 'Zm9v\u00a0', 'Zm9v\u2028', 'Zmé', 'Zm9v\0', '{'])(
    'decodeBase64Lenient refuses any other character: %j',
    (text) => {
      expect(decodeBase64Lenient(text)).toBeUndefined()
    },
  )

  it('lenient decoding reads encoded text with noise', () => {
    const noise = fc.constantFrom('=', ' ', '\t', '\n', '\r', '\f')
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.array(fc.tuple(fc.nat(80), noise)),
        (bytes, insertions) => {
          let text = encodeBase64url(bytes)
          for (const [at, mark] of insertions) text = text.slice(0, at) + mark + text.slice(at)
          expect(decodeBase64Lenient(text)).toEqual(bytes)
        },
      ),
    )
  })
})

describe('UTF-8', () => {
  test.each([
    ['a truncated character', [0xf0, 0x9f, 0x98]],
    ['0xFF', [0xff]],
  ])('decodeUtf8 refuses %s (RFC 3629 section 3)', (_rule, bytes) => {
    expect(decodeUtf8(new Uint8Array(bytes))).toBeUndefined()
  })

  it('decoding text inverts encoding, byte order mark included', () => {
    expect(decodeUtf8(encodeUtf8('\ufeffa'))).toBe('\ufeffa')
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        expect(decodeUtf8(encodeUtf8(text))).toBe(text)
      }),
    )
  })

  it('encoding text replaces a lone surrogate, as the web platform does', () => {
    expect(decodeUtf8(encodeUtf8('a\ud800b'))).toBe('a\ufffdb')
  })
})
