/** Median, minimum and maximum of some values; all NaN for none. */
export interface Spread {
  value: number
  low: number
  high: number
}

/**
 * Values of several systems measured in turn, one of each per round. Compares them round by round and takes the
 * median, since other load on the machine affects all systems of a round.
 */
export interface Rounds {
  /** Adds the value of `name` to the current round. Throws if it has one. */
  add(name: string, value: number): void
  /** Ends a round. */
  next(): void
  of(name: string): Spread
  /** Divides `one` by `other` in the rounds that have both. */
  ratio(one: string, other: string): Spread
  /** Subtracts `other` from `one` in the rounds that have both. */
  difference(one: string, other: string): Spread
}

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

export function median(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5)
}

/** Returns the value that `share` of `ascending` do not exceed. */
export function quantile(ascending: Float64Array, share: number): number {
  const index = Math.min(ascending.length - 1, Math.floor(ascending.length * share))
  return ascending[index] ?? Number.NaN
}

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { value: Number.NaN, low: Number.NaN, high: Number.NaN }
  return { value: median(values), low: Math.min(...values), high: Math.max(...values) }
}
