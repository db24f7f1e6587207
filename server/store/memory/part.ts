/** What the parts of the memory store have in common, besides the operations that each is there for. */
export interface MemoryPart {
  /** Deletes at most `limit` of what has expired, and answers how many. */
  collect(now: number, limit: number): number
  /** Everything in it that is sealed with the key ring. */
  sealed(): string[]
}

/** Deletes at most `limit` of the rows that are over, and answers how many. `onDelete` sees each before it is gone. */
export function collectRows<Row>(
  rows: Map<string, Row>,
  isOver: (row: Row) => boolean,
  limit: number,
  onDelete: (row: Row) => void = () => {},
): number {
  let deleted = 0
  for (const [key, row] of rows) {
    if (deleted >= limit) break
    if (!isOver(row)) continue
    onDelete(row)
    rows.delete(key)
    deleted += 1
  }
  return deleted
}
