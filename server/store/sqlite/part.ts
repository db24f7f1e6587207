import type { DatabaseSync } from 'node:sqlite'

/** Deletes at most `limit` rows that expired before `now`, and returns how many. Runs inside a write. */
export type CollectExpired = (now: number, limit: number) => number

/** One part of the SQLite store: its operations, and the purge of its expired rows. */
export interface SqlitePart<Operations> {
  operations: Operations
  collect: CollectExpired
}

/** Creates the {@link CollectExpired} of one table; `end` is its expiry column. */
export function deleteExpired(
  database: DatabaseSync,
  { table, key, end, retention = 0 }: { table: string; key: string; end: string; retention?: number },
): CollectExpired {
  const statement = database.prepare(
    `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${end} <= ? LIMIT ?)`,
  )
  return (now, limit) => Number(statement.run(now - retention, limit).changes)
}

/** Runs several in turn, within one limit. */
export function collectInTurn(collectors: readonly CollectExpired[]): CollectExpired {
  return (now, limit) => {
    let deleted = 0
    for (const collect of collectors) {
      if (deleted < limit) deleted += collect(now, limit - deleted)
    }
    return deleted
  }
}
