import { median } from '../contest.ts'

/** The middle one of some values, the smallest and the largest; all NaN for none. */
export interface Spread {
  value: number
  low: number
  high: number
}

/**
 * Values of several systems that were measured in turn, one of each in every round. They are compared round by round, and
 * the middle of that is the answer: what else the machine did in a round hit all of them.
 */
export interface Rounds {
  /** The value of `name` in the round that runs. Throws when it has one. */
  add(name: string, value: number): void
  /** Ends a round. */
  next(): void
  of(name: string): Spread
  /** Of the rounds that have both, `one` divided by `other`. */
  ratio(one: string, other: string): Spread
  /** Of the rounds that have both, `other` taken from `one`. */
  difference(one: string, other: string): Spread
}

/** No rounds yet. */
export function createRounds(): Rounds {
  const rounds: Map<string, number>[] = [new Map()]
  const paired = (one: string, other: string, combine: (one: number, other: number) => number): Spread =>
    spreadOf(
      rounds.flatMap((round) => {
        const [left, right] = [round.get(one), round.get(other)]
        return left === undefined || right === undefined ? [] : [combine(left, right)]
      }),
    )
  return {
    add(name, value) {
      const round = rounds.at(-1)
      if (round?.has(name)) throw new Error(`${name} was already measured in this round.`)
      round?.set(name, value)
    },
    next: () => void rounds.push(new Map()),
    of: (name) => spreadOf(rounds.flatMap((round) => round.get(name) ?? [])),
    ratio: (one, other) => paired(one, other, (left, right) => left / right),
    difference: (one, other) => paired(one, other, (left, right) => left - right),
  }
}

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { value: Number.NaN, low: Number.NaN, high: Number.NaN }
  return { value: median(values), low: Math.min(...values), high: Math.max(...values) }
}
