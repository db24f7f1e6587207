import { describe, expect, it } from 'vitest'
import { parseRetryAfter } from './retry-after.ts'

const now = Date.parse('2027-01-01T00:00:00Z') / 1000

describe('RFC 9110 10.2.3: Retry-After', () => {
  it.each([
    ['30', 30],
    ['0', 0],
    [' 7 ', 7],
    ['999999', 999_999],
    ['1000000', undefined],
    ['Fri, 01 Jan 2027 00:00:30 GMT', 30],
    ['Friday, 01-Jan-27 00:01:00 GMT', 60],
    ['Thu, 31 Dec 2026 23:59:59 GMT', 0],
    ['Fri, 31 Dec 2027 23:59:59 GMT', undefined],
    ['Fri, never', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['2027', 2027],
    ['2027-01-01', undefined],
    ['soon', undefined],
    ['', undefined],
    [null, undefined],
  ])('%j is %s seconds', (text, seconds) => {
    expect(parseRetryAfter(text, now)).toBe(seconds)
  })
})
