import { anything, assert, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isNestedDeeply, refuseDeepNesting } from './nesting.ts'
import { RemoteError } from './remote-leg.ts'

function nested(levels: number, inside = '1'): Buffer {
  const half = Math.floor(levels / 2)
  const open = '{"a":['.repeat(half) + '['.repeat(levels - 2 * half)
  return Buffer.from(open + inside + ']'.repeat(levels - 2 * half) + ']}'.repeat(half))
}

describe('JSON', () => {
  it.each([
    [1000, false],
    [1001, true],
    [400_000, true],
  ])('with %i levels is deep: %s', (levels, isDeep) => {
    const json = nested(levels)
    expect(() => void JSON.parse(json.toString())).not.toThrow()
    expect(isNestedDeeply(json)).toBe(isDeep)
  })

  it('with brackets in its strings, side by side, or behind escapes is not deep', () => {
    const brackets = '[{'.repeat(4000)
    for (const text of [brackets, `\\${brackets}`, `"${brackets}`, `\\"${brackets}\\`])
      expect(isNestedDeeply(nested(900, JSON.stringify({ [text]: text })))).toBe(false)
    expect(isNestedDeeply(Buffer.from(`[${'[],{},'.repeat(5000)}1]`))).toBe(false)
  })

  it('of any kind is not deep when it is not', () => {
    assert(
      property(anything(), anything(), (one, other) => {
        const json = JSON.stringify([one, 'x'.repeat(1000), other])
        expect(isNestedDeeply(Buffer.from(json))).toBe(false)
      }),
    )
  })

  it('that is deep is refused by name', () => {
    expect(() => refuseDeepNesting(nested(2000))).toThrow(RemoteError)
    expect(() => refuseDeepNesting(nested(10))).not.toThrow()
  })
})
