import { describe, expect, it } from 'vitest'
import type { StepRecord } from '../../../server/core/attempts/attempt.ts'
import { start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** Store contract: counted attempts, and the steps of clients that connect. */
export function describeAttempts({ store, race }: StoreInstances): void {
  it('steps of attempts are listed newest first, however many are written together and in turn, until they expire', async () => {
    const step = (detail: string): StepRecord => ({
      step: 'page',
      at: start,
      status: 400,
      ok: false,
      requestId: 'r',
      detail,
    })
    const together = Array.from({ length: 250 }, (_, n) => step(`together ${n}`))
    await store().addAttemptSteps(together, start + 60)
    const inTurn = Array.from({ length: 101 }, (_, n) => step(`in turn ${n}`))
    for (const each of inTurn) await store().addAttemptSteps([each], start + 120)
    const all = [...together, ...inTurn].toReversed()
    expect(await store().listAttemptSteps(1000)).toEqual(all)
    expect(await store().listAttemptSteps(2)).toEqual(all.slice(0, 2))
    // A row has a hundred steps.
    expect(await store().collectExpired(start + 60, 500)).toBe(3)
    expect(await store().listAttemptSteps(1000)).toEqual(inTurn.toReversed())
  })

  describe('attempts', () => {
    it('the store counts attempts within a window that begins with the first', async () => {
      const counts = []
      for (const after of [0, 1, 30, 59]) counts.push(await store().countAttempt('key', 60, start + after))
      expect(counts).toEqual([1, 2, 3, 4].map((count) => ({ count, windowEndsAt: start + 60 })))
    })

    it('the store begins the next window with the first attempt after the last one', async () => {
      await store().countAttempt('key', 60, start)
      await store().countAttempt('key', 60, start + 59)
      const next = { count: 1, windowEndsAt: start + 120 }
      expect(await store().countAttempt('key', 60, start + 60)).toEqual(next)
      // A running window keeps its end, also when another length is asked for.
      expect(await store().countAttempt('key', 3600, start + 61)).toEqual({ ...next, count: 2 })
      const last = { count: 1, windowEndsAt: start + 560 }
      expect(await store().countAttempt('key', 60, start + 500)).toEqual(last)
    })

    it('the store counts attempts of each key apart', async () => {
      await store().countAttempt('key', 60, start)
      expect((await store().countAttempt('KEY', 60, start)).count).toBe(1)
      expect((await store().countAttempt('key ', 60, start)).count).toBe(1)
      expect((await store().countAttempt('', 60, start)).count).toBe(1)
    })

    it('fifty attempts counted at once are fifty, each with a number of its own', async () => {
      const counted = await race((each) => each.countAttempt('key', 60, start))
      expect(counted.map(({ count }) => count).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 50 }, (_, index) => index + 1),
      )
      expect(new Set(counted.map(({ windowEndsAt }) => windowEndsAt))).toEqual(new Set([start + 60]))
    })

    it('fifty attempts at once after the end of a window share the new one', async () => {
      await store().countAttempt('key', 60, start)
      const counted = await race((each) => each.countAttempt('key', 60, start + 60))
      expect(counted.filter(({ count }) => count === 1)).toHaveLength(1)
      expect(Math.max(...counted.map(({ count }) => count))).toBe(50)
    })

    it('the store gives attempts back one by one within their window, never below zero', async () => {
      for (let index = 0; index < 3; index += 1) await store().countAttempt('key', 60, start)
      await store().returnAttempt('key', start + 60)
      expect((await store().countAttempt('key', 60, start)).count).toBe(3)
      for (let index = 0; index < 9; index += 1) await store().returnAttempt('key', start + 60)
      expect(await store().countAttempt('key', 60, start + 1)).toEqual({ count: 1, windowEndsAt: start + 60 })
    })

    it('the store gives attempts of an ended window back to no other window or key', async () => {
      await store().countAttempt('key', 60, start)
      await store().countAttempt('key', 60, start + 60)
      await store().returnAttempt('key', start + 60)
      await store().returnAttempt('KEY', start + 120)
      await store().returnAttempt('nothing', start + 60)
      expect((await store().countAttempt('key', 60, start + 61)).count).toBe(2)
      expect((await store().countAttempt('nothing', 60, start)).count).toBe(1)
    })

    it('fifty attempts that are counted and given back at once leave none', async () => {
      await store().countAttempt('key', 60, start)
      await race(async (each) => {
        const { windowEndsAt } = await each.countAttempt('key', 60, start)
        await each.returnAttempt('key', windowEndsAt)
      })
      expect((await store().countAttempt('key', 60, start)).count).toBe(2)
    })
  })
}
