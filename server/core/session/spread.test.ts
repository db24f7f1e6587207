import { describe, expect, it } from 'vitest'
import { spreadOf } from './spread.ts'

describe('spreadOf', () => {
  it.each([
    ['numbered', (index: number) => `grant ${index}`],
    ['of one character', (index: number) => String.fromCodePoint(0x100 + index)],
    ['that differ at the beginning only', (index: number) => `${index} and the same end`],
  ])('ids %s fall evenly into the range from 0 up to 1', (_what, idOf) => {
    const buckets = Array.from({ length: 10 }, () => 0)
    for (let index = 0; index < 10_000; index += 1) {
      const bucket = Math.floor(spreadOf(idOf(index)) * 10)
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
    }
    expect(buckets).toHaveLength(10)
    for (const count of buckets) {
      expect(count).toBeGreaterThan(850)
      expect(count).toBeLessThan(1150)
    }
  })

  it('is the same for the same id', () => {
    expect(spreadOf('grant a')).toBe(spreadOf('grant a'))
    expect(spreadOf('grant a')).not.toBe(spreadOf('grant b'))
  })
})
