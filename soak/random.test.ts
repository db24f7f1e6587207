import { describe, expect, it } from 'vitest'
import { createRandom } from './random.ts'

const draw = (seed: number): number[] => {
  const random = createRandom(seed)
  return Array.from({ length: 1000 }, () => random.next())
}

describe('createRandom', () => {
  it('gives the same sequence for the same seed, and another for another', () => {
    expect(draw(7)).toEqual(draw(7))
    expect(draw(7)).not.toEqual(draw(8))
  })

  it('draws from all of 0 to below 1', () => {
    const drawn = draw(7)
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...drawn)).toBeLessThan(1)
    for (let tenth = 0; tenth < 10; tenth += 1) {
      expect(drawn.filter((value) => Math.floor(value * 10) === tenth).length).toBeGreaterThan(60)
    }
  })

  it('gives each fork its own sequence, unaffected by other draws', () => {
    const random = createRandom(7)
    const before = random.fork('a').next()
    random.next()
    random.fork('b').next()
    expect(random.fork('a').next()).toBe(before)
    expect(random.fork('b').next()).not.toBe(before)
  })
})
