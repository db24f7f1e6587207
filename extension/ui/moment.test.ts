import { expect, test } from 'vitest'
import { createMoments } from './moment.ts'

const now = 1_800_000_000
const moments = createMoments((key) => (key === 'locale' ? 'en' : key), now)

test.each([
  [0.2, '0:01'],
  [249, '4:09'],
  [299.9, '5:00'],
  [300, '5:00'],
  [3599, '59:59'],
  [3600, '1:00:00'],
  [86_399, '23:59:59'],
])('the countdown shows %d seconds as %s', (seconds, text) => {
  expect(moments.left(now + seconds)).toBe(text)
})

test.each([
  [undefined, 'end_unknown'],
  [now, 'end_over'],
  [-8.64e12, 'end_over'],
  [now + 86_400, '1 day'],
  [now + 400 * 86_400 - 1, '399 days'],
  [8.64e12, '99,979,166 days'],
])('the countdown shows the expiry %s as %j', (expiresAt, text) => {
  expect(moments.left(expiresAt)).toBe(text)
})

test('a token expires soon from under five minutes on', () => {
  expect(moments.isSoon(now + 300)).toBe(false)
  expect(moments.isSoon(now + 299)).toBe(true)
  expect(moments.isSoon(undefined)).toBe(false)
})
