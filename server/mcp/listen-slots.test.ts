import { describe, expect, it } from 'vitest'
import { createListenPlaces, type ListenPlace } from './listen-slots.ts'

function takeMany(
  places: ReturnType<typeof createListenPlaces>,
  userId: string,
  count: number,
): ListenPlace[] {
  return Array.from({ length: count }, () => places.take(userId)).filter((place) => place !== undefined)
}

describe('places for subscriptions/listen', () => {
  it('of one user are bounded, and free again when one is left', () => {
    const places = createListenPlaces({ total: 10, perUser: 2 })
    const [first] = takeMany(places, 'ada', 3)
    expect(takeMany(places, 'ada', 1)).toEqual([])
    first?.leave()
    expect(takeMany(places, 'ada', 2)).toHaveLength(1)
  })

  it('when all are taken, whoever has the most gives the oldest one up', () => {
    const places = createListenPlaces({ total: 4, perUser: 3 })
    const ofEve = takeMany(places, 'eve', 3)
    const ofBob = takeMany(places, 'bob', 1)
    expect(takeMany(places, 'ada', 1)).toHaveLength(1)
    expect(ofEve.map(({ taken }) => taken.aborted)).toEqual([true, false, false])
    expect(ofBob[0]?.taken.aborted).toBe(false)
    // Left twice it is one place all the same.
    ofEve[0]?.leave()
    expect(takeMany(places, 'eve', 1)).toEqual([])
  })

  it('nobody gives one up for somebody who would then have more', () => {
    const places = createListenPlaces({ total: 2, perUser: 2 })
    const [ofAda] = takeMany(places, 'ada', 1)
    const [ofBob] = takeMany(places, 'bob', 1)
    expect(takeMany(places, 'ada', 1)).toEqual([])
    expect(takeMany(places, 'cy', 1)).toEqual([])
    expect([ofAda?.taken.aborted, ofBob?.taken.aborted]).toEqual([false, false])
  })
})
