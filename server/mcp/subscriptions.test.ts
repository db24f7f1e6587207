import { describe, expect, it } from 'vitest'
import { type SubscriptionSlot, SubscriptionSlots } from './subscriptions.ts'

function takeMany(slots: SubscriptionSlots, userId: string, count: number): SubscriptionSlot[] {
  return Array.from({ length: count }, () => slots.acquire(userId)).filter((slot) => slot !== undefined)
}

describe('slots for subscriptions/listen', () => {
  it('of one user are bounded, and free again when one is left', () => {
    const slots = new SubscriptionSlots({ total: 10, perUser: 2 })
    const [first] = takeMany(slots, 'ada', 3)
    expect(takeMany(slots, 'ada', 1)).toEqual([])
    first?.release()
    expect(takeMany(slots, 'ada', 2)).toHaveLength(1)
  })

  it('when all are taken, whoever has the most gives the oldest one up', () => {
    const slots = new SubscriptionSlots({ total: 4, perUser: 3 })
    const ofEve = takeMany(slots, 'eve', 3)
    const ofBob = takeMany(slots, 'bob', 1)
    expect(takeMany(slots, 'ada', 1)).toHaveLength(1)
    expect(ofEve.map(({ evicted }) => evicted.aborted)).toEqual([true, false, false])
    expect(ofBob[0]?.evicted.aborted).toBe(false)
    // Left twice it is one slot all the same.
    ofEve[0]?.release()
    expect(takeMany(slots, 'eve', 1)).toEqual([])
  })

  it('nobody gives one up for somebody who would then have more', () => {
    const slots = new SubscriptionSlots({ total: 2, perUser: 2 })
    const [ofAda] = takeMany(slots, 'ada', 1)
    const [ofBob] = takeMany(slots, 'bob', 1)
    expect(takeMany(slots, 'ada', 1)).toEqual([])
    expect(takeMany(slots, 'cy', 1)).toEqual([])
    expect([ofAda?.evicted.aborted, ofBob?.evicted.aborted]).toEqual([false, false])
  })
})
