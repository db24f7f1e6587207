import { applyEdits, type Edit } from 'jsonc-parser'
import { parse, TomlError } from 'smol-toml'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { lineEndOf, TextFaultError } from './text.ts'

/** Members of a client's entry in TOML. */
export type TomlEntry = Readonly<
  Record<string, string | readonly string[] | Readonly<Record<string, string>>>
>

/** Parses a TOML text, with integers as bigint. Throws {@link TextFaultError}. */
export function parseToml(text: string): Record<string, unknown> {
  try {
    return parse(text, { integersAsBigInt: true })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    // Only the first line is the reason; the others quote the file, including secrets.
    const [, detail = error.message] = /^(?:Invalid TOML document: )?(.*)/.exec(error.message) ?? []
    const { line, column } = error
    throw new TextFaultError({ kind: 'syntax', line, column, detail })
  }
}

/** Reads the members of the table at `keys` by name. Empty if it is missing. Throws {@link TextFaultError}. */
export function readTomlEntries(text: string, keys: readonly string[]): Map<string, unknown> {
  let value: unknown = parseToml(text)
  for (const [depth, key] of keys.entries()) {
    if (!isJsonObject(value)) throw new TextFaultError({ kind: 'not_object', path: keys.slice(0, depth) })
    value = value[key]
    if (value === undefined) return new Map()
  }
  if (!isJsonObject(value)) throw new TextFaultError({ kind: 'not_object', path: keys })
  return new Map(Object.entries(value))
}

/** Keeps lines of an existing table whose key `isKept`. Throws for dotted keys and inside an inline table. */
export function setTomlEntry(
  text: string,
  keys: readonly string[],
  name: string,
  entry: TomlEntry,
  isKept: (key: string) => boolean,
): string {
  const path = [...keys, name]
  const lines = Object.entries(entry).map(([key, value]) => `${renderKey(key)} = ${renderValue(value)}`)
  const present = readTomlEntries(text, keys)
  const statements = statementsOf(text, path)
  if (!present.has(name)) return appended(text, [`[${path.map(renderKey).join('.')}]`, ...lines])
  const own = statements.filter((statement) => startsWith(statement.path, path))
  const head = own.find(({ isTable, path: opened }) => isTable && opened.length === path.length)
  if (head === undefined) {
    const value = present.get(name)
    const isInline = own.length === 1 && own[0]?.path.length === path.length && isJsonObject(value)
    if (!isInline || Object.keys(value).some(isKept)) throw new TextFaultError({ kind: 'form', path })
    return setTomlEntry(removeTomlEntry(text, keys, name), keys, name, entry, isKept)
  }
  const lost = own.filter((statement) => statement !== head && !isKept(statement.path[path.length] ?? ''))
  const lineEnd = lineEndOf(text)
  const isLastLine = !text.slice(head.start, head.end).endsWith('\n')
  const content = isLastLine ? lineEnd + lines.join(lineEnd) : lines.join(lineEnd) + lineEnd
  const edits = lost.map(({ start, end }): Edit => ({ offset: start, length: end - start, content: '' }))
  return applyEdits(text, [{ offset: head.end, length: 0, content }, ...edits])
}

/** Removes the table `keys.name` and the blank line before it. Throws {@link TextFaultError}. */
export function removeTomlEntry(text: string, keys: readonly string[], name: string): string {
  const path = [...keys, name]
  if (!readTomlEntries(text, keys).has(name)) return text
  const statements = statementsOf(text, path)
  const edits: Edit[] = []
  for (const [index, { path: own, start, end, isHeader }] of statements.entries()) {
    if (!startsWith(own, path)) continue
    const last = edits.at(-1)
    // Text between two lines of the entry is part of it, unless another table's header is in between.
    if (last !== undefined && startsWith(statements[index - 1]?.path ?? [], path))
      last.length = end - last.offset
    else {
      const [blank = ''] = isHeader ? (/(?<=^|\n)[ \t]*\r?\n$/.exec(text.slice(0, start)) ?? []) : []
      edits.push({ offset: start - blank.length, length: end - start + blank.length, content: '' })
    }
  }
  return applyEdits(
    text,
    edits.map((edit) => withLineEnd(text, edit)),
  )
}

/** Keeps a text without a final line end that way when its last line is removed. */
function withLineEnd(text: string, edit: Edit): Edit {
  if (text.endsWith('\n') || edit.offset + edit.length < text.length) return edit
  const [lineEnd = ''] = /\r?\n$/.exec(text.slice(0, edit.offset)) ?? []
  return { ...edit, offset: edit.offset - lineEnd.length, length: edit.length + lineEnd.length }
}

/** Adds a final line end only if there was one: removing the table restores the text exactly. */
function appended(text: string, lines: readonly string[]): string {
  const lineEnd = lineEndOf(text)
  const block = lines.join(lineEnd)
  if (text === '') return block + lineEnd
  return text.endsWith('\n') ? text + lineEnd + block + lineEnd : text + lineEnd + lineEnd + block
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return path.length >= prefix.length && prefix.every((key, index) => path[index] === key)
}

/** A table header or a `key = value` line of a TOML text. Comments and blank lines do not count. */
interface Statement {
  isHeader: boolean
  /** A header of a table, not of one in a list. */
  isTable: boolean
  /** For a header, the table it opens; for a value, its full path from the root, without indexes of arrays of tables. */
  path: readonly string[]
  /** From the start of the first line to after the line end of the last. */
  start: number
  end: number
}

/**
 * Returns the statements of a text that {@link parseToml} accepts, in order. Each is the fewest lines that the parser accepts by
 * themselves. Throws {@link TextFaultError} if `entry` is inside an inline table, which is complete on its line and cannot be extended
 * by a header.
 */
function statementsOf(text: string, entry: readonly string[]): Statement[] {
  const statements: Statement[] = []
  let table: readonly string[] = []
  let start = 0
  for (let end = 0; end < text.length;) {
    end = text.indexOf('\n', end) + 1 || text.length
    const lines = text.slice(start, end)
    const value = tryParse(lines)
    if (value === undefined) continue
    const isHeader = /^\s*\[/.test(lines)
    if (Object.keys(value).length > 0) {
      const path = isHeader ? pathOf(value) : [...table, ...keyPathOf(lines)]
      if (isHeader) table = path
      statements.push({ isHeader, isTable: isHeader && !/^\s*\[\[/.test(lines), path, start, end })
    }
    start = end
  }
  const inline = statements.find(
    ({ isHeader, path }) => !isHeader && path.length < entry.length && startsWith(entry, path),
  )
  if (inline) throw new TextFaultError({ kind: 'form', path: inline.path })
  return statements
}

/** Returns the keys before the equals sign. The parser decodes them, as there are three ways to write one. */
function keyPathOf(line: string): string[] {
  const [key = ''] = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^="'])+/.exec(line) ?? []
  return pathOf(parse(`${key.trim()} = {}`))
}

function tryParse(lines: string): Record<string, unknown> | undefined {
  try {
    return parse(lines, { integersAsBigInt: true })
  } catch {
    return undefined
  }
}

/** Returns the keys to the innermost of nested tables. */
function pathOf(value: unknown): string[] {
  if (Array.isArray(value)) return pathOf(value[0])
  const [member] = Object.entries(value as object)
  return member === undefined ? [] : [member[0], ...pathOf(member[1])]
}

function renderValue(value: TomlEntry[string]): string {
  if (typeof value === 'string') return renderString(value)
  if (Array.isArray(value)) return `[${value.map(renderString).join(', ')}]`
  const members = Object.entries(value).map(([key, text]) => `${renderKey(key)} = ${renderString(text)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** Renders a key, bare where TOML allows it. */
function renderKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : renderString(key)
}

/** Renders a string: literal if it has backslashes, as in Windows paths, or else basic. */
function renderString(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (text.includes('\\') && !/['\u0000-\u001F\u007F]/.test(text)) return `'${text}'`
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`)
}
