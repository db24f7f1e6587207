import { expect, it } from 'vitest'
import { RateLimit } from './rate-limit.ts'

const start = 1_800_000_000

/** Counts how many of `times` are allowed at `now`. */
function allowed(limit: RateLimit, key: string, times: number, now: number): number {
  let count = 0
  for (let index = 0; index < times; index += 1) {
    if (limit.isSpent(key, now)) continue
    count += 1
    limit.take(key, now)
  }
  return count
}

it.each<[name: string, after: number, expected: number]>([
  ['nothing more in the same second', 0, 0],
  ['as much as a second brings', 1, 5],
  ['as much as three seconds bring', 3, 15],
  ['the burst and no more, however long nothing came', 3600, 20],
  ['nothing when the clock was set back', -50, 0],
])('a rate limit allows after the burst: %s', (_name, after, expected) => {
  const limit = new RateLimit({ burst: 20, perSecond: 5 }, 10)
  expect(allowed(limit, 'a', 100, start)).toBe(20)
  expect(allowed(limit, 'a', 100, start + after)).toBe(expected)
})

it('a rate limit does not count by isSpent alone', () => {
  const limit = new RateLimit({ burst: 1, perSecond: 1 }, 10)
  for (let index = 0; index < 100; index += 1) expect(limit.isSpent('a', start)).toBe(false)
  expect(allowed(limit, 'a', 2, start)).toBe(1)
})

it('a rate limit lets admitted work take more than is left, without a debt', () => {
  const limit = new RateLimit({ burst: 2, perSecond: 2 }, 10)
  for (let index = 0; index < 100; index += 1) limit.take('a', start)
  expect(limit.isSpent('a', start)).toBe(true)
  expect(allowed(limit, 'a', 100, start + 1)).toBe(2)
})

it('a rate limit remembers a limited number of keys', () => {
  const limit = new RateLimit({ burst: 1, perSecond: 0 }, 2)
  for (const key of ['a', 'b', 'c']) limit.take(key, start)
  expect(['a', 'b', 'c'].map((key) => limit.isSpent(key, start))).toEqual([false, true, true])
})
