/** A cache of at most `max` entries. Use it only for values that may be dropped at any time. */
export class BoundedMap<Value> {
  readonly #max: number
  // A Map keeps insertion order.
  readonly #entries = new Map<string, Value>()
  // Reused across calls: every entry before its position is deleted, and a new iterator would have to skip them each time.
  readonly #ages = this.#entries.keys()

  constructor(max: number) {
    this.#max = max
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)
  }

  /** Makes `key` the newest entry; beyond the maximum, removes the oldest. */
  set(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    const oldest = this.#entries.size > this.#max ? this.#ages.next().value : undefined
    if (oldest !== undefined) this.#entries.delete(oldest)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  values(): Value[] {
    return [...this.#entries.values()]
  }
}
