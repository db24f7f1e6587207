/** A place in a {@link Roster}. */
export interface RosterEntry<Item> {
  readonly item: Item
  /** Where it is now; the roster's own. */
  at: number
}

/** What is under way. */
export interface Roster<Item> {
  add(item: Item): RosterEntry<Item>
  /** A second time does nothing. */
  remove(entry: RosterEntry<Item>): void
  /** As they are now; who is added or taken out meanwhile changes nothing. */
  items(): Item[]
}

/**
 * A `Set`, but for its garbage: where entries come and go, a set moves to another table every few of them, and an old table
 * keeps what it held and the next table alive. At 64 calls at a time that was 4 of 100 microseconds of a call (measured).
 */
export function createRoster<Item>(): Roster<Item> {
  const entries: RosterEntry<Item>[] = []
  return {
    add(item) {
      const entry = { item, at: entries.length }
      entries.push(entry)
      return entry
    },
    remove(entry) {
      const last = entries[entries.length - 1]
      if (last === undefined || entries[entry.at] !== entry) return
      entries.pop()
      if (last === entry) return
      entries[entry.at] = last
      last.at = entry.at
    },
    items: () => entries.map(({ item }) => item),
  }
}
