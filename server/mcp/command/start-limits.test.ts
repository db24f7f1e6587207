import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { refusals, StartLimits } from './start-limits.ts'

describe('processes that die again and again', () => {
  const create = () => {
    const runtime = createFakeRuntime()
    const limits = new StartLimits(runtime)
    const refusalOf = (caller: string, owner = caller, starts = true): number | undefined => {
      try {
        limits.admit(owner, caller, starts)
        return undefined
      } catch (error) {
        return (error as { retryAfterSeconds: number }).retryAfterSeconds
      }
    }
    return { runtime, limits, refusalOf }
  }

  it('processes that keep dying are not started for a minute after the third death during the calls of a person', () => {
    const { runtime, limits, refusalOf } = create()
    expect(limits.recordDeath('ada')).toBe(false)
    runtime.advance(10)
    expect(limits.recordDeath('ada')).toBe(false)
    expect(refusalOf('ada')).toBeUndefined()
    runtime.advance(10)
    expect(limits.recordDeath('ada')).toBe(true)
    expect(refusalOf('ada')).toBe(40)
    expect(refusalOf('ada', 'ada', false)).toBe(40)
    expect(limits.recordDeath('ada')).toBe(false)
    expect(refusalOf('ada')).toBe(50)
    expect(refusalOf('bob')).toBeUndefined()
    runtime.advance(49)
    expect(refusalOf('ada')).toBe(1)
    runtime.advance(1)
    expect(refusalOf('ada')).toBeUndefined()
  })

  it('processes that keep dying are counted against the last caller of a shared process', () => {
    const { limits, refusalOf } = create()
    for (let death = 0; death < 3; death += 1) limits.recordDeath('ada')
    expect(refusalOf('ada', 'everybody')).toBe(60)
    expect(refusalOf('bob', 'everybody')).toBeUndefined()
  })

  it('processes that keep dying are started thirty times for a person at once, or for all who share one, and then every two seconds', () => {
    const { runtime, refusalOf } = create()
    for (let start = 0; start < 30; start += 1) expect(refusalOf('ada')).toBeUndefined()
    expect(refusalOf('ada')).toBe(2)
    expect(refusalOf('ada', 'ada', false)).toBeUndefined()
    for (let start = 0; start < 30; start += 1)
      expect(refusalOf(start % 2 === 0 ? 'eve' : 'ada', 'everybody')).toBeUndefined()
    expect(refusalOf('eve', 'everybody')).toBe(2)
    expect(refusalOf('bob')).toBeUndefined()
    runtime.advance(2)
    expect(refusalOf('ada')).toBeUndefined()
    expect(refusalOf('ada')).toBe(2)
  })
})

it.each([
  [refusals.stopped(), 503, 1],
  [refusals.notStarted(502), 502, undefined],
  [refusals.notStarted(504), 504, undefined],
  [refusals.noProviderToken(), 502, undefined],
  [refusals.keepsEnding(12), 503, 12],
  [refusals.startsTooOften(2), 503, 2],
  [refusals.allInUse(), 503, 5],
])(
  'a refused start says %s with status %i, to be tried again after %s seconds, with the next step',
  (refusal, status, seconds) => {
    expect(refusal).toMatchObject({ status, retryAfterSeconds: seconds })
    expect(refusal.message).toMatch(/^[A-Z].*(try again|Try again|tell the operator).*\.$/)
    if (seconds !== undefined && seconds > 1) expect(refusal.message).toContain(` ${seconds} s`)
  },
)
