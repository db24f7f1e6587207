import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { plainText } from './plain-text.ts'

it.each([
  ['https://issuer.example/a?b=c', 'https://issuer.example/a?b=c'],
  ['Größe 3 µm, 東京', 'Größe 3 µm, 東京'],
  ['\u001B[2J\u001B]0;title\u0007', String.raw`\u001b[2J\u001b]0;title\u0007`],
  ['\u009B31m', String.raw`\u009b31m`],
  ['one\r\ntwo\u2028', String.raw`one\u000d\u000atwo\u2028`],
  ['txt.\u202Eexe', String.raw`txt.\u202eexe`],
  ['\u{E0041}', String.raw`\udb40\udc41`],
])('plainText shows %j as %s', (text, shown) => expect(plainText(text)).toBe(shown))

it('plainText returns one line of limited length without control characters', () => {
  const codes = fc.array(fc.nat(0x10_ff_ff), { maxLength: 1200 })
  fc.assert(
    fc.property(codes, (points) => {
      const text = String.fromCodePoint(...points)
      expect(plainText(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      expect(plainText(text).length).toBeLessThan(6100)
    }),
    { numRuns: 30, examples: [[Array.from({ length: 3000 }, () => 0)]] },
  )
})
