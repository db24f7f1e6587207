/** Values of `$1`, `$2`, ... in a statement. Texts may contain NUL. */
export type Values = readonly (string | number | null | undefined)[]

/**
 * Runs SQL statements, each in its own transaction. Statements that SQLite and Postgres share are written once,
 * against this interface; each driver adds what takes it several statements or its own SQL. In rows, a boolean of SQLite is 0 or 1.
 */
export interface SqlDatabase {
  /** Returns the rows of a statement that changes nothing. */
  read<Row>(statement: string, values?: Values): Promise<Row[]>
  /** Returns the rows of a changing statement. */
  write<Row>(statement: string, values?: Values): Promise<Row[]>
}

/** Lists `columns`, which are separated by commas, for rows that have them in camelCase. */
export function camelCased(columns: string, table = ''): string {
  return columns
    .split(/,\s*/)
    .map(
      (name) =>
        `${table}${name} AS "${name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}"`,
    )
    .join(', ')
}

export type WithoutNulls<Row> = {
  [Name in keyof Row]: null extends Row[Name] ? Exclude<Row[Name], null> | undefined : Row[Name]
}

/** Returns `row` as a plain object, with undefined for NULL. Costs more than the query of one row: do not use it for frequent reads. */
export function withoutNulls<Row extends object>(row: Row): WithoutNulls<Row> {
  const entries = Object.entries(row).map(([name, value]: [string, unknown]) => [name, value ?? undefined])
  return Object.fromEntries(entries) as WithoutNulls<Row>
}
