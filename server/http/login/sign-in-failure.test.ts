import { describe, expect, it } from 'vitest'
import { retryHeaders } from '../response.ts'
import { inEnglish } from '../../../tests/support/pages/view-sample.ts'
import { failureText, type SignInReason, startRefusalDelay, statusOf } from './sign-in-failure.ts'

const { failures } = inEnglish.texts
const reasons = Object.keys(failures) as SignInReason[]

describe('a failure', () => {
  it.each(reasons)('the failure %s says what happened and what to do, in two sentences or more', (reason) => {
    const text = failures[reason]
    expect(text.match(/[.](?:\s|$)/g)?.length).toBeGreaterThanOrEqual(2)
    expect(text).toMatch(/\b(?:try|choose|check|open|complete|enter|turn|add|sign in|start|ask|tell)\b/i)
    expect([400, 403, 429, 502, 503]).toContain(statusOf({ reason }))
  })

  it('no two failures share a text', () => {
    expect(new Set(reasons.map((reason) => failures[reason])).size).toBe(reasons.length)
  })
})

it.each<[status: number, asked: number | undefined, sent: string | undefined]>([
  [429, undefined, '60'],
  [429, 17, '17'],
  [503, undefined, '5'],
  [503, 30, '30'],
  [502, 30, undefined],
  [400, undefined, undefined],
])('retryHeaders: %s, asked to wait %s: Retry-After %s', (status, retryAfterSeconds, sent) => {
  expect(retryHeaders(status, retryAfterSeconds)['retry-after']).toBe(sent)
})

it.each<[reason: SignInReason, retryAfterSeconds: number | undefined, text: string]>([
  ['rate_limited', undefined, 'Wait a minute'],
  ['rate_limited', 60, 'Wait a minute'],
  ['rate_limited', 61, 'Wait 2 minutes'],
  ['rate_limited', 900, 'Wait 15 minutes'],
  ['transient', 900, 'Try again in a moment'],
])('the failure %s with a wait of %s seconds reads: %s', (reason, retryAfterSeconds, text) => {
  expect(failureText({ reason, retryAfterSeconds }, inEnglish)).toContain(text)
})

it.each([
  [0, [500]],
  [120.4, [380]],
  [499.9, [1]],
  [500, []],
  [2000, []],
])('a refusal that took %f ms is delayed by %j ms', async (took, waited) => {
  const slept: number[] = []
  const times = [1000, 1000 + took]
  const refusalDue = startRefusalDelay(
    { sleep: async (ms) => void slept.push(ms) },
    () => times.shift() ?? Number.NaN,
  )
  await refusalDue()
  expect(slept).toEqual(waited)
})
