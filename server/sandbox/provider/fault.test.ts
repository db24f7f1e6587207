import { describe, expect, it } from 'vitest'
import { createFaults } from './fault.ts'
import { fakeRuntime } from '../../../tests/support/sandbox/provider-fixture.ts'

describe('without faults', () => {
  it('nothing happens', async () => {
    const runtime = fakeRuntime()
    const faults = createFaults(runtime)
    expect(await faults.before('/token')).toBeUndefined()
    expect(() => faults.afterRotation()).not.toThrow()
    for (let request = 0; request < 1000; request++) expect(() => faults.checkRate()).not.toThrow()
    expect(runtime.slept).toEqual([])
  })
})

describe('faults', () => {
  it('are counted down, and do not touch other addresses', async () => {
    const faults = createFaults(fakeRuntime())
    faults.set({ failNext: { status: 504, count: 2, path: '/token' } })
    const statuses = []
    for (const path of ['/auth/v1/token', '/auth/v1/user', '/auth/v1/token', '/auth/v1/token']) {
      statuses.push((await faults.before(path))?.status)
    }
    expect(statuses).toEqual([504, undefined, 504, undefined])
  })

  it('come after the delay', async () => {
    const runtime = fakeRuntime()
    const faults = createFaults(runtime)
    faults.set({ latencyMs: 20, failNext: { status: 500, count: 1 } })
    expect((await faults.before('/x'))?.status).toBe(500)
    expect(await faults.before('/x')).toBeUndefined()
    expect(runtime.slept).toEqual([20, 20])
  })

  it('break as many connections as they say', () => {
    const faults = createFaults(fakeRuntime())
    faults.set({ dropReplyAfterRotation: 2 })
    expect(() => faults.afterRotation()).toThrow(TypeError)
    expect(() => faults.afterRotation()).toThrow('fetch failed')
    expect(() => faults.afterRotation()).not.toThrow()
  })

  it('let requests through again as the window slides', () => {
    const runtime = fakeRuntime()
    const faults = createFaults(runtime)
    faults.set({ rateLimit: { limit: 2, windowSeconds: 10 } })
    const isLimited = (): boolean => {
      try {
        faults.checkRate()
        return false
      } catch (error) {
        expect(error).toMatchObject({ status: 429, code: 'over_request_rate_limit' })
        return true
      }
    }
    expect(isLimited()).toBe(false)
    runtime.advance(6)
    expect(isLimited()).toBe(false)
    expect(isLimited()).toBe(true)
    runtime.advance(4)
    expect(isLimited()).toBe(false)
    expect(isLimited()).toBe(true)
  })

  it('are replaced as a whole', async () => {
    const faults = createFaults(fakeRuntime())
    faults.set({
      failNext: { status: 500, count: 9 },
      dropReplyAfterRotation: 9,
      rateLimit: { limit: 0, windowSeconds: 1 },
    })
    expect(() => faults.checkRate()).toThrow()
    faults.set({})
    expect(await faults.before('/x')).toBeUndefined()
    expect(() => faults.afterRotation()).not.toThrow()
    expect(() => faults.checkRate()).not.toThrow()
  })
})
