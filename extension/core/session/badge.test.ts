import { expect, test } from 'vitest'
import { badgeFor } from './badge.ts'
import type { SessionsReading } from './session-reader.ts'
import { now } from '../../../tests/support/extension/core/session-fixture.ts'

const reading = (expiresAt: number | undefined): SessionsReading => {
  const view = { id: 'a', account: 'a', project: 'a', issuer: 'a', place: 'cookie', expiresAt } as const
  const other = { ...view, id: 'b', expiresAt: now + 60 } as const
  return { kind: 'sessions', sessions: [view, other].map((each) => ({ view: each, token: 'SECRET' })) }
}

test.each([
  [3599, '59', 'fresh', 59],
  [300, '5', 'fresh', 5],
  [299, '!4', 'soon', 4],
  [0, 'x', 'over', 0],
  [99 * 60, '99', 'fresh', 99],
  [100 * 60, '1h', 'fresh', 100],
  [47 * 3600, '47h', 'fresh', 2820],
  [48 * 3600, '2d', 'fresh', 2880],
  [8.64e12, '99d', 'fresh', 144_000_000_000],
] as const)('%d seconds: %s', (seconds, text, tone, minutes) => {
  expect(badgeFor(reading(now + seconds), now)).toEqual({ text, tone, minutes })
  expect(text.length).toBeLessThanOrEqual(3)
})

test('says nothing about the unknown', () => {
  const nothing = { text: '', tone: 'none', minutes: undefined }
  expect(badgeFor(reading(undefined), now)).toEqual(nothing)
  expect(badgeFor({ kind: 'none', mayRead: true }, now)).toEqual(nothing)
  expect(badgeFor({ kind: 'invalid', project: 'a', reason: 'malformed' }, now)).toEqual(nothing)
})
