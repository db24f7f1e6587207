/** What is worth remembering as long as there is room: never more than so many entries. */
export interface BoundedMap<Value> {
  get(key: string): Value | undefined
  /** Makes `key` the newest entry; when there are too many, the oldest goes. */
  set(key: string, value: Value): void
  delete(key: string): void
  /** All there is now, the oldest first. */
  values(): Value[]
}

/** A {@link BoundedMap} of at most `most` entries. Only for what may be forgotten at any time. */
export function createBoundedMap<Value>(most: number): BoundedMap<Value> {
  // A Map keeps the order of insertion.
  const entries = new Map<string, Value>()
  // Goes on where it was: whatever is before it has been deleted. A new one would have to pass all of that each time.
  const ages = entries.keys()
  return {
    get: (key) => entries.get(key),
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      const oldest = entries.size > most ? ages.next().value : undefined
      if (oldest !== undefined) entries.delete(oldest)
    },
    delete: (key) => void entries.delete(key),
    values: () => [...entries.values()],
  }
}
