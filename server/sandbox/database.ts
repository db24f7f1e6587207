import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/**
 * Opens an SQLite file of the sandbox, or `:memory:`. Only its owner can read it, and committed data survives a kill of the process.
 * Calls are synchronous, so nothing interleaves between them.
 */
export function openDatabase(path: string): DatabaseSync {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    closeSync(openSync(path, 'a', 0o600))
  }
  const database = new DatabaseSync(path)
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
  return database
}

/** A table of JSON documents. Conditions are SQL over `id` and `body`. */
export class Collection<Document extends { id: string }> {
  readonly #database: DatabaseSync
  readonly #table: string

  /** Creates the table if it is missing. */
  constructor(database: DatabaseSync, table: string) {
    this.#database = database
    this.#table = table
    database.exec(`CREATE TABLE IF NOT EXISTS ${table} (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT`)
  }

  /** Returns copies, newest first. */
  list(condition: string, ...values: string[]): Document[] {
    const sql = `SELECT body FROM ${this.#table} WHERE ${condition} ORDER BY rowid DESC`
    const rows = this.#database.prepare(sql).all(...values)
    return rows.map(({ body }) => JSON.parse(String(body)) as Document)
  }

  find(condition: string, ...values: string[]): Document | undefined {
    return this.list(condition, ...values)[0]
  }

  /** Inserts the document, or replaces the one with its id. */
  save(document: Document): Document {
    const sql = `INSERT INTO ${this.#table} (id, body) VALUES (?, ?)
      ON CONFLICT (id) DO UPDATE SET body = excluded.body`
    this.#database.prepare(sql).run(document.id, JSON.stringify(document))
    return document
  }

  /** Returns whether there was one. */
  delete(condition: string, ...values: string[]): boolean {
    const sql = `DELETE FROM ${this.#table} WHERE ${condition}`
    return this.#database.prepare(sql).run(...values).changes > 0
  }
}
