import { createSignal } from '@drawbridge/shared/async.ts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SignOutWorker } from '../core/session/sign-out-worker.ts'
import { createUpkeep, type Upkeep } from './upkeep.ts'

const runtime = { now: () => 1000, sleep: async (_ms: number): Promise<void> => {} }
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

interface Work {
  collect?: () => Promise<number>
  signOut?: SignOutWorker['run']
  save?: () => Promise<void>
  flush?: () => Promise<void>
  flushAttempts?: () => Promise<void>
  trim?: (most: number, limit: number, openedBefore: number) => Promise<number>
}

function start(work: Work): Upkeep {
  const started = create(work)
  started.start()
  return started
}

function create(work: Work): Upkeep {
  upkeep = createUpkeep(
    {
      store: {
        collectExpired: work.collect ?? (async () => 0),
        trimClients: work.trim ?? (async () => 0),
      },
      signOuts: { run: work.signOut ?? (async () => 0) },
      keeper: { saveUnsaved: work.save ?? (async () => {}) },
      grantUses: { flush: work.flush ?? (async () => {}) },
      attempts: { flush: work.flushAttempts ?? (async () => {}) },
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

it('upkeep records what is left when it stops, the rest too if a part fails, and leaves no timer', async () => {
  const flushed: string[] = []
  const flush = async (): Promise<void> => void flushed.push('uses')
  const { stop } = start({ flush, flushAttempts: () => Promise.reject(new Error('away')) })
  await stop()
  expect(flushed).toEqual(['uses'])
  expect(reported).toEqual(['upkeep_failed', new Error('away')])
  expect(vi.getTimerCount()).toBe(0)
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

describe('the rounds of upkeep after requests', () => {
  // A fake clock that timers move, in seconds.
  beforeEach(() => {
    const began = Date.now()
    vi.spyOn(runtime, 'now').mockImplementation(() => 1000 + Math.floor((Date.now() - began) / 1000))
    vi.spyOn(runtime, 'sleep').mockImplementation(async (ms) => {
      await new Promise((resolve) => setTimeout(resolve, ms))
    })
  })
  afterEach(() => vi.restoreAllMocks())

  it('upkeep does everything at once after the first request, and nothing before', async () => {
    const jobs = { collect: vi.fn(async () => 0), signOut: vi.fn(async () => 0), save: vi.fn(async () => {}) }
    const { afterRequest } = create(jobs)
    await vi.advanceTimersByTimeAsync(120_000)
    for (const job of Object.values(jobs)) expect(job).not.toHaveBeenCalled()
    await afterRequest()
    for (const job of Object.values(jobs)) expect(job).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(120_000)
    for (const job of Object.values(jobs)) expect(job).toHaveBeenCalledTimes(1)
  })

  it('upkeep runs one more round for all requests within five seconds, and they wait for it', async () => {
    const signOut = vi.fn(async () => 0)
    const { afterRequest } = create({ signOut })
    await afterRequest()
    let waiting = 3
    const waits = [1, 2, 3].map(() => afterRequest().then(() => (waiting -= 1)))
    await vi.advanceTimersByTimeAsync(4900)
    expect([signOut.mock.calls.length, waiting]).toEqual([1, 3])
    await vi.advanceTimersByTimeAsync(100)
    await Promise.all(waits)
    expect(signOut).toHaveBeenCalledTimes(2)
  })

  it('upkeep runs a further round for a request that ends while one is running', async () => {
    const running = createSignal<number>()
    const signOut = vi.fn(() => running.given)
    const { afterRequest } = create({ signOut })
    const first = afterRequest()
    await vi.advanceTimersByTimeAsync(0)
    const second = afterRequest()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(signOut).toHaveBeenCalledTimes(1)
    running.give(0)
    await Promise.all([first, second])
    expect(signOut).toHaveBeenCalledTimes(2)
  })

  it('upkeep deletes rows once a minute at most, and saves in every round', async () => {
    const jobs = { collect: vi.fn(async () => 0), trim: vi.fn(async () => 0), flush: vi.fn(async () => {}) }
    const { afterRequest } = create(jobs)
    for (let second = 0; second < 60; second += 10) {
      await afterRequest()
      await vi.advanceTimersByTimeAsync(10_000)
    }
    expect(jobs.collect).toHaveBeenCalledTimes(1)
    expect(jobs.trim).toHaveBeenCalledTimes(2)
    expect(jobs.flush).toHaveBeenCalledTimes(6)
    await afterRequest()
    expect(jobs.collect).toHaveBeenCalledTimes(2)
  })

  it('upkeep waits five seconds at most for a round when the clock is set back', async () => {
    const signOut = vi.fn(async () => 0)
    const { afterRequest } = create({ signOut })
    await afterRequest()
    vi.setSystemTime(Date.now() - 3_600_000)
    const second = afterRequest()
    await vi.advanceTimersByTimeAsync(5000)
    await second
    expect(signOut).toHaveBeenCalledTimes(2)
  })

  it('upkeep runs no round that was waiting when it was stopped', async () => {
    const signOut = vi.fn(async () => 0)
    const { afterRequest, stop } = create({ signOut })
    await afterRequest()
    const waiting = afterRequest()
    await stop()
    await vi.advanceTimersByTimeAsync(5000)
    await waiting
    expect(signOut).toHaveBeenCalledTimes(1)
  })

  it('upkeep reports a failure and runs the other jobs', async () => {
    const flush = vi.fn(async () => {})
    await create({ signOut: () => Promise.reject(new Error('away')), flush }).afterRequest()
    expect(reported).toEqual(['upkeep_failed', new Error('away')])
    expect(flush).toHaveBeenCalledTimes(1)
  })

  it('upkeep that is run by hand does each job once, whatever was done a moment ago', async () => {
    const jobs = { collect: vi.fn(async () => 0), signOut: vi.fn(async () => 0) }
    const { afterRequest, run } = create(jobs)
    await afterRequest()
    await run()
    expect(jobs.collect).toHaveBeenCalledTimes(2)
    expect(jobs.signOut).toHaveBeenCalledTimes(2)
  })
})
