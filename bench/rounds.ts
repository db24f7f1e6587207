/** Median, minimum and maximum of some values. */
export interface Spread {
  value: number
  low: number
  high: number
}

/**
 * Values of several systems measured in turn, one of each per round. Compares them round by round and takes the
 * median, since other load on the machine affects all systems of a round.
 */
export class Rounds {
  readonly #values = new Map<string, number[]>()

  add(name: string, value: number): void {
    this.#values.set(name, [...this.#of(name), value])
  }

  of(name: string): Spread {
    return spreadOf(this.#of(name))
  }

  /** Divides `one` by `other`. */
  ratio(one: string, other: string): Spread {
    return this.#paired(one, other, (left, right) => left / right)
  }

  /** Subtracts `other` from `one`. */
  difference(one: string, other: string): Spread {
    return this.#paired(one, other, (left, right) => left - right)
  }

  #paired(one: string, other: string, combine: (left: number, right: number) => number): Spread {
    const right = this.#of(other)
    return spreadOf(this.#of(one).map((left, round) => combine(left, right[round] ?? Number.NaN)))
  }

  #of(name: string): number[] {
    return this.#values.get(name) ?? []
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function spreadOf(values: readonly number[]): Spread {
  return { value: median(values), low: Math.min(...values), high: Math.max(...values) }
}
