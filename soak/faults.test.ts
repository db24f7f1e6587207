import { expect, it } from 'vitest'
import { drawFault, faults, weathers } from './faults.ts'
import { createRandom } from './random.ts'

it('the first weather has every fault, and no weather has shares that exceed one', () => {
  expect(Object.keys(weathers[0]?.mix ?? {}).sort()).toEqual(Object.keys(faults).sort())
  for (const { mix } of weathers)
    expect(Object.values(mix).reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(1)
})

it('drawFault draws each kind as often as the mix says, and nothing otherwise', () => {
  const random = createRandom(1)
  const mix = { slow: 0.2, reply_lost: 0.3 }
  const drawn = Array.from({ length: 10_000 }, () => drawFault(mix, random))
  const share = (kind?: string): number => drawn.filter((one) => one === kind).length / drawn.length
  expect(share('slow')).toBeCloseTo(0.2, 1)
  expect(share('reply_lost')).toBeCloseTo(0.3, 1)
  expect(share(undefined)).toBeCloseTo(0.5, 1)
  expect(new Set(drawn).size).toBe(3)
})

it('drawFault draws no fault from an empty mix', () => {
  expect(drawFault({}, createRandom(1))).toBeUndefined()
})

const draw = (seed: number): number[] => {
  const random = createRandom(seed)
  return Array.from({ length: 1000 }, () => random.next())
}

it('createRandom gives the same sequence for the same seed, and another for another', () => {
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
})

it('createRandom draws from all of 0 to below 1', () => {
  const drawn = draw(7)
  expect(Math.min(...drawn)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...drawn)).toBeLessThan(1)
  for (let tenth = 0; tenth < 10; tenth += 1) {
    expect(drawn.filter((value) => Math.floor(value * 10) === tenth).length).toBeGreaterThan(60)
  }
})

it('createRandom gives each fork its own sequence, unaffected by other draws', () => {
  const random = createRandom(7)
  const before = random.fork('a').next()
  random.next()
  random.fork('b').next()
  expect(random.fork('a').next()).toBe(before)
  expect(random.fork('b').next()).not.toBe(before)
})
