/** A cache with a maximum number of entries. */
export interface BoundedMap<Value> {
  get(key: string): Value | undefined
  /** Makes `key` the newest entry; beyond the maximum, removes the oldest. */
  set(key: string, value: Value): void
  delete(key: string): void
  /** Returns the entries, oldest first. */
  values(): Value[]
}

/** Creates a {@link BoundedMap} of at most `max` entries. Use it only for values that may be dropped at any time. */
export function createBoundedMap<Value>(max: number): BoundedMap<Value> {
  // A Map keeps insertion order.
  const entries = new Map<string, Value>()
  // Reused across calls: every entry before its position is deleted, and a new iterator would have to skip them each time.
  const ages = entries.keys()
  return {
    get: (key) => entries.get(key),
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      const oldest = entries.size > max ? ages.next().value : undefined
      if (oldest !== undefined) entries.delete(oldest)
    },
    delete: (key) => void entries.delete(key),
    values: () => [...entries.values()],
  }
}
