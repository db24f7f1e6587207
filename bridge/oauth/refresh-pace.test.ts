import { describe, expect, it } from 'vitest'
import { createRefreshPace } from './refresh-pace.ts'

describe('the pace of renewals', () => {
  it('doubles the pause with every failure, up to a minute, and starts again after a success', () => {
    let now = 0
    const pace = createRefreshPace(
      () => 1,
      () => now,
    )
    const pauses = Array.from({ length: 8 }, () => {
      pace.failed(undefined)
      const pause = pace.pauseMs()
      now += pause
      return pause
    })
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
    expect(pace.pauseMs()).toBe(0)
    pace.failed(undefined)
    pace.succeeded()
    expect(pace.pauseMs()).toBe(0)
    pace.failed(undefined)
    expect(pace.pauseMs()).toBe(1000)
  })

  it('halves it by chance', () => {
    const pace = createRefreshPace(
      () => 0,
      () => 0,
    )
    pace.failed(undefined)
    expect(pace.pauseMs()).toBe(500)
  })

  it('does as the server says when that is longer', () => {
    const pace = createRefreshPace(
      () => 0,
      () => 0,
    )
    pace.failed(120)
    expect(pace.pauseMs()).toBe(120_000)
    pace.failed(0)
    expect(pace.pauseMs()).toBe(1000)
  })

  it('follows five refusals a minute', () => {
    let now = 0
    const pace = createRefreshPace(
      () => 0,
      () => now,
    )
    const follow = (): boolean => pace.mayFollowRefusal()
    expect([follow(), follow(), follow(), follow(), follow(), follow()]).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ])
    now = 60_001
    expect(follow()).toBe(true)
  })
})
