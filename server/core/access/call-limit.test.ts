import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { CallLimit, type CallLimits } from './call-limit.ts'

let runtime: FakeRuntime
let leave: (() => void)[]
beforeEach(() => {
  runtime = createFakeRuntime(1000)
  leave = []
})

function create(limits: Partial<CallLimits>): (userId?: string, count?: number) => number | 'admitted' {
  const limit = new CallLimit({ rate: undefined, atOnce: undefined, ...limits }, runtime)
  return (userId = 'ada', count = 1) => {
    const admission = limit.enter(userId, count)
    if (admission.kind === 'refused') return admission.retryAfterSeconds
    leave.push(admission.leave)
    return 'admitted'
  }
}

describe('calls in a time', () => {
  it('are admitted up to the burst, and then as they come back', () => {
    const enter = create({ rate: { burst: 3, perSecond: 0.5 } })
    expect([enter(), enter(), enter(), enter()]).toEqual(['admitted', 'admitted', 'admitted', 2])
    runtime.advance(2)
    expect([enter(), enter()]).toEqual(['admitted', 2])
  })

  it('are counted for each person', () => {
    const enter = create({ rate: { burst: 1, perSecond: 1 } })
    expect([enter('ada'), enter('eve'), enter('ada'), enter('eve')]).toEqual(['admitted', 'admitted', 1, 1])
  })

  it('of a batch are admitted all or none', () => {
    const enter = create({ rate: { burst: 3, perSecond: 1 } })
    expect([enter('ada', 2), enter('ada', 2), enter('ada', 1)]).toEqual(['admitted', 2, 'admitted'])
  })
})

describe('calls at once', () => {
  it('are admitted up to the limit, and again when one is over', () => {
    const enter = create({ atOnce: 2 })
    expect([enter(), enter(), enter(), enter('eve')]).toEqual(['admitted', 'admitted', 1, 'admitted'])
    leave[0]?.()
    expect([enter(), enter()]).toEqual(['admitted', 1])
  })

  it('that are refused take nothing from what may be called in a time', () => {
    const enter = create({ atOnce: 1, rate: { burst: 2, perSecond: 1 } })
    expect([enter(), enter(), enter()]).toEqual(['admitted', 1, 1])
    leave[0]?.()
    expect(enter()).toBe('admitted')
  })
})

it('without limits everything is admitted', () => {
  const enter = create({})
  for (let call = 0; call < 1000; call += 1) expect(enter()).toBe('admitted')
})
