import type { DatabaseSync } from 'node:sqlite'
import { type SqlDatabase, type Values } from '../sql/sql.ts'
import { decodeText, encodeText } from '../sql/storable-text.ts'
import type { SqliteWork } from './work.ts'

export interface SqliteDatabase extends SqlDatabase {
  /** Runs `work`, which may use the following methods, as one write: see {@link SqliteWork.write}. */
  transaction: SqliteWork['write']
  all<Row>(statement: string, values?: Values): Row[]
  /** Runs a statement; returns the number of the row that it inserted. */
  run(statement: string, values?: Values): number
}

/** Creates the {@link SqliteDatabase} on `database`. Each statement is prepared when it is used first. */
export function createSqliteDatabase(database: DatabaseSync, work: SqliteWork): SqliteDatabase {
  const prepared = new Map<string, ReturnType<typeof prepare>>()

  function preparedOf(statement: string): ReturnType<typeof prepare> {
    const known = prepared.get(statement) ?? prepare(database, statement)
    prepared.set(statement, known)
    return known
  }

  function all<Row>(statement: string, values: Values = []): Row[] {
    const { sql, order } = preparedOf(statement)
    const rows = sql.all(...order.map((index) => bound(values[index])))
    for (const row of rows) {
      for (const name in row) {
        const value = row[name]
        if (typeof value === 'string') row[name] = decodeText(value)
      }
    }
    return rows as Row[]
  }

  return {
    all,
    run(statement, values = []) {
      const { sql, order } = preparedOf(statement)
      return Number(sql.run(...order.map((index) => bound(values[index]))).lastInsertRowid)
    },
    transaction: work.write,
    read: (statement, values) => work.read(() => all(statement, values)),
    write: (statement, values) => work.write(() => all(statement, values)),
  }
}

function bound(value: Values[number]): string | number | null {
  return typeof value === 'string' ? encodeText(value) : (value ?? null)
}

/**
 * Prepares a statement; `order` says which value each `?` stands for. By position, as the oldest supported Node misbinds numbered
 * parameters. SQLite needs no types of parameters.
 */
function prepare(database: DatabaseSync, statement: string) {
  const order: number[] = []
  const text = statement.replaceAll(/\$(\d+)(?:::\w+)?/g, (_, number: string) => {
    order.push(Number(number) - 1)
    return '?'
  })
  return { sql: database.prepare(text), order }
}
