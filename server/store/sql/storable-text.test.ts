import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodeText, encodeText } from './storable-text.ts'

const awkward = fc.string({ unit: fc.constantFrom('\0', '\u0001', '0', '1', 'a', '\\') })

it('storable text keeps every text unchanged, and has no NUL', () => {
  fc.assert(
    fc.property(awkward, (text) => {
      expect(encodeText(text)).not.toContain('\0')
      expect(decodeText(encodeText(text))).toBe(text)
    }),
  )
})

it('different texts stay different', () => {
  fc.assert(
    fc.property(awkward, awkward, (one, other) => {
      expect(encodeText(one) === encodeText(other)).toBe(one === other)
    }),
  )
})

it('usual texts are stored unchanged', () => {
  expect(encodeText('mcpc_1 \\0 é 👩‍🚀')).toBe('mcpc_1 \\0 é 👩‍🚀')
})
