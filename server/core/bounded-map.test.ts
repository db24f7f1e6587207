import { expect, it } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

it('BoundedMap treats an entry that is set again as the newest', () => {
  const map = new BoundedMap<number>(2)
  for (const key of ['a', 'b', 'a', 'c']) map.set(key, 0)
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([0, undefined, 0])
})

it('BoundedMap lists its entries, the oldest first', () => {
  const map = new BoundedMap<number>(2)
  for (const [value, key] of ['a', 'b', 'a', 'c'].entries()) map.set(key, value)
  expect(map.values()).toEqual([2, 3])
})

it('BoundedMap forgets the oldest entry, even after others were deleted and set again', () => {
  const map = new BoundedMap<number>(3)
  const expected: string[] = []
  for (let index = 0; index < 2000; index += 1) {
    const key = String((index * 7919) % 11)
    const at = expected.indexOf(key)
    if (at !== -1) expected.splice(at, 1)
    if (index % 5 === 0) {
      map.delete(key)
      continue
    }
    map.set(key, index)
    expected.push(key)
    if (expected.length > 3) expected.shift()
    expect(map.values()).toHaveLength(expected.length)
    for (const held of expected) expect(map.get(held)).toBeDefined()
  }
})

it('BoundedMap forgets as quickly with many entries as with few', () => {
  const map = new BoundedMap<number>(10_000)
  const before = process.cpuUsage()
  for (let index = 0; index < 200_000; index += 1) map.set(String(index), index)
  // Searching for the oldest from the start each time took ten times as long.
  expect(process.cpuUsage(before).user / 200_000).toBeLessThan(8)
})
