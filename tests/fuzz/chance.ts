/** Source of hostile cases: one number determines a whole case. */
export interface Chance {
  /** Returns a whole number below `end`. */
  below(end: number): number
  /** Returns true with a probability of 1 in `times`. */
  once(times: number): boolean
  pick<Value>(values: readonly Value[]): Value
}

/**
 * Creates a {@link Chance} from `seed`, the same each time (mulberry32). Fast, as cases are cheaper than their tests.
 */
export function createChance(seed: number): Chance {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d_2b_79_f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const chance: Chance = {
    below: (end) => next() % end,
    once: (times) => next() % times === 0,
    pick(values) {
      const picked = values[next() % values.length]
      if (picked === undefined) throw new Error('There is nothing to pick from.')
      return picked
    },
  }
  return chance
}
