import type { ValueParser } from '@drawbridge/shared/settings/setting.ts'
import { expect, it } from 'vitest'

/** Tests what a parser accepts and rejects. */
export function describeParser<Value>(
  name: string,
  parse: ValueParser<Value>,
  accepted: readonly (readonly [text: string, value: Value])[],
  refused: readonly string[],
): void {
  it.each(accepted.map(([text, value]) => ({ text, value })))(`${name} accepts $text`, ({ text, value }) => {
    expect(parse(text)).toEqual(value)
  })
  it.each(refused.map((text) => ({ text })))(
    `${name} refuses $text, and names the expected value`,
    ({ text }) => {
      expect(() => parse(text)).toThrow(TypeError)
      expect(() => parse(text)).toThrow(/^expected /)
    },
  )
}
