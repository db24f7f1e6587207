/** Where hostile cases come from: one number says all of one. */
export interface Chance {
  /** A whole number below `end`. */
  below(end: number): number
  /** True once in so many times. */
  once(times: number): boolean
  pick<Value>(values: readonly Value[]): Value
}

/** A {@link Chance} of `seed`, the same each time (mulberry32). Made to be fast: cases are cheaper than what is done with them. */
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
