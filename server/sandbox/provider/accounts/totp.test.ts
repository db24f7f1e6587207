import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { computeTotp, decodeBase32, encodeBase32, totpUri, verifyTotp } from './totp.ts'

const RFC_SECRET = encodeBase32(Buffer.from('12345678901234567890'))

describe('base32', () => {
  // RFC 4648 section 10, without padding.
  it.each([
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ])('of %j is %j', (text, encoded) => {
    expect(encodeBase32(Buffer.from(text))).toBe(encoded)
    expect(Buffer.from(decodeBase32(encoded)).toString()).toBe(text)
    expect(Buffer.from(decodeBase32(`${encoded.toLowerCase()}======`)).toString()).toBe(text)
  })
})

describe('the code', () => {
  // RFC 6238 appendix B, SHA-1, the last six of its eight digits.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at %i is %s', (time, code) => {
    expect(computeTotp(RFC_SECRET, time)).toBe(code)
  })

  it.each([
    { drift: 0, good: true },
    { drift: -30, good: true },
    { drift: 30, good: true },
    { drift: -60, good: false },
    { drift: 60, good: false },
  ])('of $drift seconds away is accepted: $good', ({ drift, good }) => {
    const now = 1_234_567_890
    expect(verifyTotp(RFC_SECRET, computeTotp(RFC_SECRET, now + drift), now)).toBe(good)
  })

  it.each(['', '00592', '0059240', '005925'])('%j is not accepted in place of 005924', (code) => {
    expect(verifyTotp(RFC_SECRET, code, 1_234_567_890)).toBe(false)
  })
})

it('the URI names issuer, account and secret', () => {
  const uri = new URL(totpUri('MZXW6', 'localhost:8788', 'ada@example.com'))
  expect(uri.protocol).toBe('otpauth:')
  expect(decodeURIComponent(uri.pathname)).toContain('localhost:8788:ada@example.com')
  expect(uri.searchParams.get('secret')).toBe('MZXW6')
  expect(uri.searchParams.get('period')).toBe('30')
})

it('base32 of any bytes is read back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      expect(decodeBase32(encodeBase32(bytes))).toEqual(bytes)
    }),
  )
})
