import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { type TextEdit, TextFaultError, applyTextEdits, lineEndOf } from './text.ts'
import {
  type TomlEntry,
  type TomlStatement,
  parseToml,
  renderTomlLines,
  renderTomlTable,
  renderTomlValue,
  tomlStatements,
} from './toml-tree.ts'

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

/**
 * Sets the table `keys.name` to `entry`. In an existing table, keeps lines whose key `isKept`. Throws {@link
 * TextFaultError}, also for an entry with dotted keys or inside an inline table.
 */
export function setTomlEntry(
  text: string,
  keys: readonly string[],
  name: string,
  entry: TomlEntry,
  isKept: (key: string) => boolean,
): string {
  const path = [...keys, name]
  const present = readTomlEntries(text, keys).has(name)
  const statements = tomlStatements(text)
  refuseInline(statements, path)
  if (!present) return appended(text, renderTomlTable(path, entry))
  const own = statements.filter((statement) => startsWith(statement.path, path))
  const [first] = own
  if (own.length === 1 && first?.kind === 'value' && first.path.length === path.length) {
    return replaceInline(text, first, entry, isKept)
  }
  const head = own.find(({ kind, path: opened }) => kind === 'table' && opened.length === path.length)
  if (head === undefined) throw new TextFaultError({ kind: 'form', path })
  const isLost = (statement: TomlStatement): boolean => !isKept(statement.path[path.length] ?? '')
  const edits = own
    .filter((statement) => statement !== head && isLost(statement))
    .map(({ start, end }): TextEdit => ({ offset: start, length: end - start, content: '' }))
  return applyTextEdits(text, [...edits, linesBelow(text, head, renderTomlLines(entry))])
}

/** Removes the table `keys.name` and the blank line before it. Throws {@link TextFaultError}. */
export function removeTomlEntry(text: string, keys: readonly string[], name: string): string {
  const path = [...keys, name]
  if (!readTomlEntries(text, keys).has(name)) return text
  const statements = tomlStatements(text)
  refuseInline(statements, path)
  const edits: TextEdit[] = []
  for (const [index, statement] of statements.entries()) {
    if (!startsWith(statement.path, path)) continue
    const last = edits.at(-1)
    const before = statements[index - 1]
    // Text between two lines of the entry is part of it, unless another table's header is in between.
    if (last !== undefined && before && startsWith(before.path, path)) {
      last.length = statement.end - last.offset
    } else edits.push(block(text, statement))
  }
  return applyTextEdits(text, withoutLastLineEnd(text, edits))
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return path.length >= prefix.length && prefix.every((key, index) => path[index] === key)
}

/** Rejects inline tables, which are complete on their line and cannot be extended by a header. */
function refuseInline(statements: readonly TomlStatement[], path: readonly string[]): void {
  const inline = statements.find(
    (statement) =>
      statement.kind === 'value' && statement.path.length < path.length && startsWith(path, statement.path),
  )
  if (inline) throw new TextFaultError({ kind: 'form', path: inline.path })
}

/**
 * Adds one blank line before the new table, and a final line end only if there was one: removing it restores the text
 * exactly.
 */
function appended(text: string, lines: readonly string[]): string {
  const lineEnd = lineEndOf(text)
  const block = lines.join(lineEnd)
  if (text === '') return block + lineEnd
  return text.endsWith('\n') ? text + lineEnd + block + lineEnd : text + lineEnd + lineEnd + block
}

function replaceInline(
  text: string,
  statement: TomlStatement,
  entry: TomlEntry,
  isKept: (key: string) => boolean,
): string {
  const { valueStart, valueEnd, path } = statement
  const value = parseToml(`value = ${text.slice(valueStart, valueEnd)}`)['value']
  if (!isJsonObject(value) || Object.keys(value).some(isKept))
    throw new TextFaultError({ kind: 'form', path })
  const members = Object.entries(entry).map(([key, member]) => `${key} = ${renderTomlValue(member)}`)
  const content = `{ ${members.join(', ')} }`
  return applyTextEdits(text, [{ offset: valueStart, length: valueEnd - valueStart, content }])
}

function linesBelow(text: string, head: TomlStatement, lines: readonly string[]): TextEdit {
  const lineEnd = lineEndOf(text)
  const isLastLine = !text.slice(head.start, head.end).endsWith('\n')
  const content = isLastLine ? lineEnd + lines.join(lineEnd) : lines.join(lineEnd) + lineEnd
  return { offset: head.end, length: 0, content }
}

function block(text: string, statement: TomlStatement): TextEdit {
  const { start, end } = statement
  const [blank = ''] =
    statement.kind === 'value' ? [] : (/(?<=^|\n)[ \t]*\r?\n$/.exec(text.slice(0, start)) ?? [])
  return { offset: start - blank.length, length: end - start + blank.length, content: '' }
}

/** Keeps a text without a final line end that way when its last line is removed. */
function withoutLastLineEnd(text: string, edits: readonly TextEdit[]): TextEdit[] {
  return edits.map((edit) => {
    if (text.endsWith('\n') || edit.offset + edit.length < text.length) return edit
    const [lineEnd = ''] = /\r?\n$/.exec(text.slice(0, edit.offset)) ?? []
    return { offset: edit.offset - lineEnd.length, length: edit.length + lineEnd.length, content: '' }
  })
}
