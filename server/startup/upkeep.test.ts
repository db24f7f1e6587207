import { createSignal } from '@drawbridge/shared/async.ts'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { SignOutWorker } from '../core/session/sign-out-worker.ts'
import { startUpkeep, type Upkeep } from './upkeep.ts'

const runtime = { now: () => 1000, sleep: async () => {} }
let reported: unknown[]
let upkeep: Upkeep | undefined

beforeEach(() => {
  vi.useFakeTimers()
  reported = []
})
afterEach(async () => {
  await upkeep?.stop()
  vi.useRealTimers()
})

function start(work: {
  collect?: () => Promise<number>
  signOut?: SignOutWorker['run']
  save?: () => Promise<void>
  flush?: () => Promise<void>
  trim?: (most: number, limit: number, openedBefore: number) => Promise<number>
}): Upkeep {
  upkeep = startUpkeep(
    {
      store: {
        collectExpired: work.collect ?? (async () => 0),
        trimClients: work.trim ?? (async () => 0),
      },
      signOuts: { run: work.signOut ?? (async () => 0) },
      keeper: { saveUnsaved: work.save ?? (async () => {}) },
      grantUses: { flush: work.flush ?? (async () => {}) },
      attempts: { flush: async () => {} },
    },
    runtime,
    (event, { error }) => void reported.push(event, error),
  )
  return upkeep
}

it('upkeep deletes in batches until one is not full, once a minute', async () => {
  const left = [100, 100, 7]
  const collect = vi.fn(async () => left.shift() ?? 0)
  start({ collect })
  await vi.advanceTimersByTimeAsync(59_000)
  expect(collect).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(8000)
  expect(collect).toHaveBeenCalledTimes(3)
})

it('upkeep runs sign-outs every few seconds, never twice at once', async () => {
  let running = 0
  let most = 0
  let rounds = 0
  start({
    signOut: async () => {
      running += 1
      rounds += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setTimeout(resolve, 12_000))
      running -= 1
      return 1
    },
  })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(most).toBe(1)
  expect(rounds).toBeGreaterThan(2)
  const stopped = upkeep?.stop()
  await vi.advanceTimersByTimeAsync(12_000)
  await stopped
})

it('upkeep reports a failure and tries again the next time', async () => {
  const signOut = vi.fn(() => Promise.reject(new Error('away')))
  start({ signOut })
  await vi.advanceTimersByTimeAsync(20_000)
  expect(signOut.mock.calls.length).toBeGreaterThan(2)
  expect(reported.slice(0, 2)).toEqual(['upkeep_failed', new Error('away')])
})

it('upkeep stops when running work has ended, and starts no more', async () => {
  const running = createSignal<number>()
  const signOut = vi.fn(() => running.given)
  const { stop } = start({ signOut })
  await vi.advanceTimersByTimeAsync(6000)
  let stopped = false
  const stopping = stop().then(() => (stopped = true))
  await vi.advanceTimersByTimeAsync(60_000)
  expect(stopped).toBe(false)
  running.give(0)
  await stopping
  expect(signOut).toHaveBeenCalledTimes(1)
})

it('upkeep tells running work when it is to stop', async () => {
  const { stop } = start({
    signOut: async (isStopped) => {
      for (let second = 0; second < 1000; second += 1) {
        if (isStopped?.()) break
        await new Promise((resolve) => setTimeout(resolve, 1000))
      }
      return 0
    },
  })
  await vi.advanceTimersByTimeAsync(67_000)
  let stopped = false
  const stopping = stop().then(() => (stopped = true))
  await vi.advanceTimersByTimeAsync(1000)
  expect(stopped).toBe(true)
  await stopping
})

it('upkeep deletes no further batch once it is stopped', async () => {
  const left = [100, 100, 0]
  const collect = vi.fn(async () => {
    void upkeep?.stop()
    return left.shift() ?? 0
  })
  start({ collect })
  await vi.advanceTimersByTimeAsync(67_000)
  expect(collect).toHaveBeenCalledTimes(1)
})

it('upkeep limits unused registrations in batches, once a minute', async () => {
  const removed = [2000, 2000, 3]
  const asked: number[][] = []
  start({
    trim: async (...bounds) => {
      asked.push(bounds)
      return removed.shift() ?? 0
    },
  })
  await vi.advanceTimersByTimeAsync(67_000)
  const now = runtime.now()
  expect(asked).toEqual([
    ...Array.from({ length: 3 }, () => [20_000, 2000, now - 600]),
    // Registrations with an open page stay, up to twice as many.
    [40_000, 2000, now + 1],
  ])
})

it('upkeep records which grants are in use every half minute', async () => {
  const flush = vi.fn(async () => {})
  start({ flush })
  await vi.advanceTimersByTimeAsync(29_000)
  expect(flush).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(38_000)
  expect(flush).toHaveBeenCalledTimes(2)
})

it('upkeep retries failed writes about once a second, and no more once it is stopped', async () => {
  let saves = 0
  const { stop } = start({ save: async () => void (saves += 1) })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(saves).toBeGreaterThanOrEqual(9)
  expect(saves).toBeLessThanOrEqual(10)
  const before = saves
  await stop()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(saves).toBe(before)
})
