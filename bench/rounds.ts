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

/**
 * Measures `systems` in turn, round by round, so that other activity on the machine affects all alike. Returns the values by
 * what was measured. One more round comes first and does not count: it fills the caches of files and compiled code.
 */
export async function inTurn<Value extends string, System extends { name: string }>(
  rounds: number,
  systems: readonly System[],
  measure: (system: System) => Promise<Readonly<Record<Value, number>>>,
): Promise<Readonly<Record<Value, Rounds>>> {
  const results = new Map<string, Rounds>()
  for (let round = -1; round < rounds; round += 1) {
    for (const system of systems) {
      for (const [what, value] of Object.entries<number>(await measure(system))) {
        const values = results.get(what) ?? new Rounds()
        results.set(what, values)
        if (round >= 0) values.add(system.name, value)
      }
    }
  }
  return Object.fromEntries(results) as Record<Value, Rounds>
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

function spreadOf(values: readonly number[]): Spread {
  return { value: median(values), low: Math.min(...values), high: Math.max(...values) }
}
