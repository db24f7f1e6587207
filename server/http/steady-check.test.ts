import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSteadyCheck } from './health.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Creates a remote service that responds after `ms`, and the results of checking it. */
function remote() {
  const state = { up: true, ms: 0, asked: 0 }
  const check = createSteadyCheck(async () => {
    state.asked += 1
    const { up, ms } = state
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    if (!up) throw new Error('down')
  })
  /** Makes one check, which must finish within `withinMs`. */
  const look = async (withinMs = 1000): Promise<string> => {
    let outcome = 'no outcome'
    void check().then(
      () => (outcome = 'ok'),
      () => (outcome = 'failed'),
    )
    await vi.advanceTimersByTimeAsync(withinMs)
    return outcome
  }
  return { state, look }
}

describe('a steady check', () => {
  it('a steady check fails at the first look after an outage, and holds at the first look after its end', async () => {
    const { state, look } = remote()
    expect(await look(0)).toBe('ok')
    state.up = false
    await vi.advanceTimersByTimeAsync(2000)
    expect(await look()).toBe('failed')
    state.up = true
    expect(await look(0)).toBe('ok')
  })

  it('a steady check ignores a single failure between good answers', async () => {
    const { state, look } = remote()
    await look(2000)
    state.up = false
    const looking = look()
    // The first check is already on its way.
    state.up = true
    expect(await looking).toBe('ok')
    expect(state.asked).toBe(3)
  })

  it('a steady check counts a slow answer as good, however often it is checked', async () => {
    const { state, look } = remote()
    await look(0)
    state.ms = 7000
    const outcomes = []
    for (let looks = 0; looks < 40; looks += 1) outcomes.push(await look())
    expect(new Set(outcomes)).toEqual(new Set(['ok']))
    expect(state.asked).toBeLessThan(10)
  })

  it('a steady check fails once the time-out of a hanging check is over, and keeps failing', async () => {
    const { state, look } = remote()
    await look(2000)
    Object.assign(state, { up: false, ms: 8000 })
    const outcomes = []
    for (let seconds = 0; seconds < 20; seconds += 1) outcomes.push(await look())
    expect(outcomes.indexOf('failed')).toBe(7)
    expect(new Set(outcomes.slice(7))).toEqual(new Set(['failed']))
  })

  it('a steady check has no outcome before the first answer', async () => {
    const { state, look } = remote()
    state.ms = 3000
    expect(await look(2999)).toBe('no outcome')
    expect(await look(1)).toBe('ok')
  })

  it('a steady check leaves no timer behind', async () => {
    const { look } = remote()
    await look(2000)
    await look(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})
