/** A cache with a maximum number of entries. */
export interface BoundedMap<Value> {
  get(key: string): Value | undefined
  /** Makes `key` the newest entry; when there are too many, the oldest goes. */
  set(key: string, value: Value): void
  delete(key: string): void
  /** The current entries, oldest first. */
  values(): Value[]
}

/** A {@link BoundedMap} of at most `max` entries. Only for what may be forgotten at any time. */
export function createBoundedMap<Value>(max: number): BoundedMap<Value> {
  // A Map keeps the order of insertion.
  const entries = new Map<string, Value>()
  // Reused across calls: everything before its position has been deleted, and a new iterator would have to skip all
  // of that each time.
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
