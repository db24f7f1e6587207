import { crc32 } from 'node:zlib'

/** Random numbers from a seed: the same seed gives the same sequence. Not for secrets. */
export interface Random {
  /** Returns a number from 0 to below 1. */
  next(): number
  between(min: number, max: number): number
  chance(probability: number): boolean
  pick<Value>(values: readonly [Value, ...Value[]]): Value
  /** Creates an independent sequence for one part, unaffected by draws elsewhere. */
  fork(name: string): Random
}

/** Creates the sequence of `seed` (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const random: Random = {
    next() {
      state = (state + 0x6d2b79f5) >>> 0
      let mixed = Math.imul(state ^ (state >>> 15), state | 1)
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
    },
    between: (min, max) => min + random.next() * (max - min),
    chance: (probability) => random.next() < probability,
    pick: (values) => values[Math.floor(random.next() * values.length)] ?? values[0],
    fork: (name) => createRandom(seed ^ crc32(name)),
  }
  return random
}
