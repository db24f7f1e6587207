import { describe, expect, it } from 'vitest'
import { type AttemptStep, attemptSteps } from '@drawbridge/shared/attempt-step.ts'
import { adviceOn } from './advice.ts'
import type { StepRecord } from './attempt.ts'

let at = 0
const seen = (step: AttemptStep, more: Partial<StepRecord> = {}): StepRecord => {
  at += 1
  return { step, at, status: 200, ok: true, requestId: `${at}`, ...more }
}
const refused = (step: AttemptStep, detail?: string): StepRecord =>
  seen(step, { ok: false, status: 400, detail })

it('each step that nothing followed has advice of its own, and each that was refused another', () => {
  const after = attemptSteps.filter((step) => step !== 'list').map((step) => adviceOn([seen(step)]))
  const refusals = attemptSteps.map((step) => adviceOn([refused(step)]))
  for (const text of [...after, ...refusals]) expect(text).toMatch(/^[A-Z].{20,}\.$/)
  expect(new Set([...after, ...refusals]).size).toBe(after.length + refusals.length)
  expect(adviceOn([seen('list')])).toBe('The client is connected.')
})

it('without a step there is none', () => {
  expect(adviceOn([])).toBeUndefined()
})

describe('advice is about', () => {
  it('the furthest step that succeeded, in whatever order they were seen', () => {
    const [page, challenge] = [seen('page'), seen('challenge')]
    expect(adviceOn([page, challenge])).toBe(adviceOn([page]))
    expect(adviceOn([challenge, page])).toBe(adviceOn([page]))
  })

  it('a refusal of a later step', () => {
    expect(adviceOn([seen('page'), refused('sign_in')])).toBe(adviceOn([refused('sign_in')]))
  })

  it('not a refusal of a step that succeeded, or that others have passed', () => {
    expect(adviceOn([refused('page'), seen('page')])).toBe(adviceOn([seen('page')]))
    expect(adviceOn([refused('register'), seen('page')])).toBe(adviceOn([seen('page')]))
  })

  it('the last of several refusals', () => {
    const last = adviceOn([refused('register', 'second')])
    expect(adviceOn([refused('token', 'first'), refused('register', 'second')])).toBe(last)
    expect(last).toMatch(/ \(second\)$/)
  })

  it.each([
    ['foreign_browser', /did not send the cookie/],
    ['access_denied', /access test/],
    ['client_unknown', /has to register again/],
    ['redirect_uri_mismatch', /clients list/],
  ])('the reason %s, at whatever step', (detail, text) => {
    for (const step of ['page', 'sign_in', 'token'] as const)
      expect(adviceOn([refused(step, detail)])).toMatch(new RegExp(`${text.source}.* \\(${detail}\\)$`))
  })

  it.each([
    ['sign_in', { detail: 'second_factor' }, /did not come back \(second_factor\)\./],
    ['sign_in', {}, /did not come back\./],
    ['code', { userAgent: 'Mozilla/5.0' }, /have stopped waiting for the browser\.$/],
    ['code', {}, /have stopped waiting\.$/],
  ] as const)('what is known of the step %s with %j', (step, more, text) => {
    expect(adviceOn([seen(step, more)])).toMatch(text)
  })
})
