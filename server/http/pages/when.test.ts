import { expect, test } from 'vitest'
import { agoText, dateText, machineTime } from './when.ts'

const now = 1_791_000_000

test.each([
  [-5, 'just now'],
  [0, 'just now'],
  [59, 'just now'],
  [60, '1 minute ago'],
  [3599, '59 minutes ago'],
  [3600, '1 hour ago'],
  [86_399, '23 hours ago'],
  [86_400, '1 day ago'],
  [28 * 86_400 - 1, '27 days ago'],
  [28 * 86_400, 'on 5 September 2026'],
])('%i s back reads as %s', (seconds, text) => {
  expect(agoText(now - seconds, now)).toBe(text)
})

test('a day is named in UTC, wherever the server stands', () => {
  expect(dateText(1_790_985_599)).toBe('2 October 2026')
  expect(dateText(1_790_985_600)).toBe('3 October 2026')
  expect(machineTime(1_790_985_600)).toBe('2026-10-03T00:00:00.000Z')
})
