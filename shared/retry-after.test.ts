import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { retryAfterSeconds } from './retry-after.ts'

const now = Date.UTC(2026, 10, 21, 20, 0, 0) / 1000

it.each<[header: string | undefined, date: string | undefined, seconds: number | undefined]>([
  [undefined, undefined, undefined],
  ['0', undefined, 0],
  ['120', undefined, 120],
  [' 7 ', undefined, 7],
  ['7, 9', undefined, 7],
  ['99999999999999999999', undefined, 3600],
  ['-1', undefined, undefined],
  ['1.5', undefined, undefined],
  ['soon', undefined, undefined],
  ['', undefined, undefined],
  ['2026-11-21', undefined, undefined],
  ['Sat, never', undefined, undefined],
  ['Sat, 21 Nov 2026 20:00:30 GMT', undefined, 30],
  ['Saturday, 21-Nov-26 20:00:30 GMT', undefined, 30],
  ['Sat Nov 21 20:00:30 2026', undefined, 30],
  ['Sat, 21 Nov 2026 19:59:00 GMT', undefined, 0],
  ['Sun, 22 Nov 2026 20:00:00 GMT', undefined, 3600],
  // This computer's clock is two hours behind, the server's two dates fit together.
  ['Sat, 21 Nov 2026 22:00:30 GMT', 'Sat, 21 Nov 2026 22:00:00 GMT', 30],
  ['Sat, 21 Nov 2026 20:00:30 GMT', 'yesterday', 30],
])('RFC 9110 10.2.3: Retry-After: %j beside Date: %j is %s seconds', (header, date, seconds) => {
  expect(retryAfterSeconds({ 'retry-after': header, date }, now)).toBe(seconds)
})

it('RFC 9110 10.2.3: a date in Retry-After is not read without a clock or a Date beside it', () => {
  const date = 'Sat, 21 Nov 2026 20:00:30 GMT'
  expect(retryAfterSeconds({ 'retry-after': date })).toBeUndefined()
  expect(retryAfterSeconds({ 'retry-after': date, date })).toBe(0)
})

it('retryAfterSeconds returns a finite number of seconds that is never negative', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (header, date) => {
      const seconds = retryAfterSeconds({ 'retry-after': header, date }, now)
      return seconds === undefined || (seconds >= 0 && seconds <= 3600)
    }),
  )
})
