import type { DatabaseSync } from 'node:sqlite'

/** Runs `work` as one transaction: all of it is stored, or none when it throws. `work` must not await. */
export type Transaction = <Result>(work: () => Result) => Result

/** The {@link Transaction} runner of `database`. Takes the write lock at once, so no step fails half-way for it. */
export function createTransaction(database: DatabaseSync): Transaction {
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const rollback = database.prepare('ROLLBACK')
  return (work) => {
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      if (database.isTransaction) rollback.run()
      throw error
    }
  }
}
