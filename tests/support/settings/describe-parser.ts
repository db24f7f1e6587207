import type { ValueParser } from '@drawbridge/shared/settings/setting.ts'
import { describe, expect, it } from 'vitest'

/** Tests what a parser accepts and rejects. */
export function describeParser<Value>(
  name: string,
  parse: ValueParser<Value>,
  accepted: readonly (readonly [text: string, value: Value])[],
  refused: readonly string[],
): void {
  describe(name, () => {
    it.each(accepted.map(([text, value]) => ({ text, value })))('$text', ({ text, value }) => {
      expect(parse(text)).toEqual(value)
    })
    it.each(refused.map((text) => ({ text })))('refuses $text with what is expected', ({ text }) => {
      expect(() => parse(text)).toThrow(TypeError)
      expect(() => parse(text)).toThrow(/^expected /)
    })
  })
}
