import { expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { isDue, spreadOf } from './session-liveness.ts'

/** Returns how many seconds before its end a token of `lifetime` seconds becomes due. */
function margin(grantId: string, lifetime: number): number {
  const session = { grantId, sealed: '', version: 1, issuedAt: start, expiresAt: start + lifetime }
  for (let left = Math.min(lifetime, 200); left >= 0; left -= 1)
    if (isDue(session, start + lifetime - left)) return left
  return -1
}

it('a token of an hour is due 90 to 150 seconds before its end, every second of that for about as many grants', () => {
  const grants = 3050
  const counts = new Map<number, number>()
  for (let index = 0; index < grants; index += 1) {
    const left = margin(`grant ${index}`, 3600)
    counts.set(left, (counts.get(left) ?? 0) + 1)
  }
  expect([...counts.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 61 }, (_, at) => 90 + at))
  for (const count of counts.values()) {
    expect(count).toBeGreaterThan(20)
    expect(count).toBeLessThan(90)
  }
})

it.each([
  [300, 60],
  [4, 0],
])('a token of %i s is due for the last fifth of its life, %i s', (lifetime, left) => {
  expect(margin('grant a', lifetime)).toBe(left)
})

it.each([
  ['numbered', (index: number) => `grant ${index}`],
  ['of one character', (index: number) => String.fromCodePoint(0x100 + index)],
  ['that differ at the beginning only', (index: number) => `${index} and the same end`],
])('spreadOf: ids %s fall evenly into the range from 0 up to 1', (_what, idOf) => {
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
