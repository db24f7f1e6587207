// Callers promise a row type that matches the columns in their SQL; only this file relies on it.
/* oxlint-disable typescript/no-unnecessary-type-parameters, typescript/no-unsafe-type-assertion */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

/**
 * An SQLite file of the sandbox, or `:memory:`. Only its owner can read it, and committed data survives a kill of the process. Calls
 * are synchronous, so nothing interleaves between them.
 */
export class Database {
  readonly #connection: DatabaseSync

  /** `schema` creates missing tables. */
  constructor(path: string, schema: string) {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      closeSync(openSync(path, 'a', 0o600))
    }
    this.#connection = new DatabaseSync(path)
    this.#connection.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    this.#connection.exec(`PRAGMA foreign_keys = ON; ${schema}`)
  }

  /** First row or undefined. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#connection.prepare(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#connection.prepare(sql).all(...values) as Row[]
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#connection.prepare(sql).run(...values).changes)
  }

  close(): void {
    this.#connection.close()
  }
}
