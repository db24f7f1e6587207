import { expect, test } from 'vitest'
import { endsSoon, timeLeft } from './expiry.ts'

const now = 1_800_000_000

test.each([
  [0.2, '0:01'],
  [249, '4:09'],
  [299.9, '5:00'],
  [300, '5:00'],
  [3599, '59:59'],
  [3600, '1:00:00'],
  [86_399, '23:59:59'],
])('%d seconds left read as %s', (seconds, text) => {
  expect(timeLeft(now + seconds, now)).toEqual({ kind: 'clock', text })
})

test.each([
  [undefined, { kind: 'unknown' }],
  [now, { kind: 'over' }],
  [-8.64e12, { kind: 'over' }],
  [now + 86_400, { kind: 'days', days: 1 }],
  [now + 400 * 86_400 - 1, { kind: 'days', days: 399 }],
  [8.64e12, { kind: 'days', days: 99_979_166 }],
])('the expiry %s is %j', (expiresAt, left) => {
  expect(timeLeft(expiresAt, now)).toEqual(left)
})

test('a token expires soon from under five minutes on', () => {
  expect(endsSoon(now + 300, now)).toBe(false)
  expect(endsSoon(now + 299, now)).toBe(true)
  expect(endsSoon(now - 1, now)).toBe(true)
  expect(endsSoon(undefined, now)).toBe(false)
})
