import { expect, it } from 'vitest'
import * as fc from 'fast-check'
import { createRoster, type RosterEntry } from './roster.ts'

it('holds what was added and not taken out, whatever the order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), (steps) => {
      const roster = createRoster<number>()
      const entries: RosterEntry<number>[] = []
      const model = new Set<number>()
      for (const [item, step] of steps.entries()) {
        // Also what was taken out already.
        const index = step - 10
        const entry = entries[index]
        if (entry !== undefined) {
          roster.remove(entry)
          model.delete(index)
        }
        entries[item] = roster.add(item)
        model.add(item)
      }
      expect(roster.items().toSorted((a, b) => a - b)).toEqual([...model])
    }),
  )
})

it('goes on when an item is taken out while the others are walked', () => {
  const roster = createRoster<() => void>()
  let calls = 0
  const entries: RosterEntry<() => void>[] = Array.from({ length: 3 }, (_, index) =>
    roster.add(() => {
      calls += 1
      const entry = entries[index]
      if (entry !== undefined) roster.remove(entry)
    }),
  )
  for (const call of roster.items()) call()
  expect([calls, roster.items()]).toEqual([3, []])
})
