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

it('advice differs for each step that nothing followed, and for each that was refused', () => {
  const after = attemptSteps.filter((step) => step !== 'list').map((step) => adviceOn([seen(step)]))
  const refusals = attemptSteps.map((step) => adviceOn([refused(step)]))
  for (const text of [...after, ...refusals]) expect(text).toMatch(/^[A-Z].{20,}\.$/)
  expect(new Set([...after, ...refusals]).size).toBe(after.length + refusals.length)
  expect(adviceOn([seen('list')])).toBe('The client is connected.')
})

it('advice is undefined without a step', () => {
  expect(adviceOn([])).toBeUndefined()
})

describe('advice is about', () => {
  it('advice is about the furthest step that succeeded, in whatever order', () => {
    const [page, challenge] = [seen('page'), seen('challenge')]
    expect(adviceOn([page, challenge])).toBe(adviceOn([page]))
    expect(adviceOn([challenge, page])).toBe(adviceOn([page]))
  })

  it('advice is about a refusal of a later step', () => {
    expect(adviceOn([seen('page'), refused('sign_in')])).toBe(adviceOn([refused('sign_in')]))
  })

  it('advice ignores a refusal if that step or a later one succeeded', () => {
    expect(adviceOn([refused('page'), seen('page')])).toBe(adviceOn([seen('page')]))
    expect(adviceOn([refused('register'), seen('page')])).toBe(adviceOn([seen('page')]))
  })

  it('advice is about the last of several refusals', () => {
    const last = adviceOn([refused('register', 'second')])
    expect(adviceOn([refused('token', 'first'), refused('register', 'second')])).toBe(last)
    expect(last).toMatch(/ \(second\)$/)
  })

  it.each([
    ['foreign_browser', /did not send the cookie/],
    ['access_denied', /access test/],
    ['client_unknown', /has to register again/],
    ['redirect_uri_mismatch', /clients list/],
  ])('advice explains the reason %s at any step', (detail, text) => {
    for (const step of ['page', 'sign_in', 'token'] as const)
      expect(adviceOn([refused(step, detail)])).toMatch(new RegExp(`${text.source}.* \\(${detail}\\)$`))
  })

  it('advice on a step that nothing followed ends with what it waited for', () => {
    expect(adviceOn([seen('sign_in', { detail: 'second_factor' })])).toBe(
      `${adviceOn([seen('sign_in')])} (second_factor)`,
    )
  })
})
