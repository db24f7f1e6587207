import { TomlError, parse } from 'smol-toml'
import { TextFaultError } from './text.ts'

/** Members of a client's entry in TOML. */
export type TomlEntry = Readonly<
  Record<string, string | readonly string[] | Readonly<Record<string, string>>>
>

/** Renders a TOML string: literal if it has backslashes, as in Windows paths, or else basic. */
function renderTomlString(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (text.includes('\\') && !/['\u0000-\u001F\u007F]/.test(text)) return `'${text}'`
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`)
}

/** Renders a value on one line. */
export function renderTomlValue(value: TomlEntry[string]): string {
  if (typeof value === 'string') return renderTomlString(value)
  if (isList(value)) return `[${value.map(renderTomlString).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, member]) => `${renderTomlKey(key)} = ${renderTomlString(member)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** Renders a key, bare where TOML allows it. */
function renderTomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : renderTomlString(key)
}

/** Renders the lines of an entry as a table, without a final line end. */
export function renderTomlTable(path: readonly string[], entry: TomlEntry): string[] {
  return [`[${path.map(renderTomlKey).join('.')}]`, ...renderTomlLines(entry)]
}

/** Renders `key = value` lines. */
export function renderTomlLines(entry: TomlEntry): string[] {
  return Object.entries(entry).map(([key, value]) => `${renderTomlKey(key)} = ${renderTomlValue(value)}`)
}

function isList(value: TomlEntry[string]): value is readonly string[] {
  return Array.isArray(value)
}

/** A table header or a `key = value` line of a TOML text, with its position. Comments and blank lines do not count. */
export interface TomlStatement {
  kind: 'table' | 'array' | 'value'
  /**
   * For a header, the table it opens; for a value, its full path from the root, without indexes of arrays of tables.
   */
  path: readonly string[]
  /** From the start of the first line to after the line end of the last. */
  start: number
  end: number
  /** For a value, the text after the equals sign. For a header, the text between the brackets. */
  valueStart: number
  valueEnd: number
}

/** Parses a TOML text, with integers as bigint. Throws {@link TextFaultError}. */
export function parseToml(text: string): Record<string, unknown> {
  try {
    return parse(text, { integersAsBigInt: true })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    // Only the first line is the reason; the others quote the file, including secrets.
    const [, reason = error.message] = /^(?:Invalid TOML document: )?(.*)/.exec(error.message) ?? []
    const { line, column } = error
    throw new TextFaultError({ kind: 'syntax', line, column, detail: reason })
  }
}

/** Returns the statements of a text that {@link parseToml} accepts, in order. */
export function tomlStatements(text: string): TomlStatement[] {
  const statements: TomlStatement[] = []
  let table: readonly string[] = []
  for (let at = 0; at < text.length;) {
    const first = skipBlanks(text, at)
    const isEmpty = /[\r\n#]/.test(text[first] ?? '\n')
    if (!isEmpty) {
      const statement = text[first] === '[' ? header(text, at, first) : keyValue(text, at, first, table)
      if (statement.kind !== 'value') table = statement.path
      statements.push(statement)
      at = statement.end
    } else at = behindLine(text, first)
  }
  return statements
}

function header(text: string, start: number, first: number): TomlStatement {
  const isArray = text.startsWith('[[', first)
  const valueStart = first + (isArray ? 2 : 1)
  const valueEnd = scan(text, valueStart, (character) => character === ']')
  const path = keyPath(text.slice(valueStart, valueEnd))
  return {
    kind: isArray ? 'array' : 'table',
    path,
    start,
    end: behindLine(text, valueEnd),
    valueStart,
    valueEnd,
  }
}

function keyValue(text: string, start: number, first: number, table: readonly string[]): TomlStatement {
  const equals = scan(text, first, (character) => character === '=')
  const valueStart = skipBlanks(text, equals + 1)
  const stop = endOfValue(text, valueStart)
  const valueEnd = valueStart + text.slice(valueStart, stop).trimEnd().length
  const path = [...table, ...keyPath(text.slice(first, equals))]
  return { kind: 'value', path, start, end: behindLine(text, stop), valueStart, valueEnd }
}

/** Returns the end of a value: the first line end or comment outside brackets and strings. */
function endOfValue(text: string, from: number): number {
  let depth = 0
  let at = from
  while (at < text.length) {
    at = scan(text, at, (character) => '[]{}#\r\n'.includes(character))
    const character = text[at] ?? ''
    if ('[{'.includes(character)) depth += 1
    else if (']}'.includes(character)) depth -= 1
    else if (depth === 0) return at
    at = character === '#' ? lineEndFrom(text, at) : at + 1
  }
  return text.length
}

/** Returns the first offset at or after `from`, outside strings, with a wanted character. */
function scan(text: string, from: number, isWanted: (character: string) => boolean): number {
  for (let at = from; at < text.length;) {
    const character = text[at] ?? ''
    if (isWanted(character)) return at
    at = character === '"' || character === "'" ? behindString(text, at, character) : at + 1
  }
  return text.length
}

function behindString(text: string, start: number, quote: string): number {
  const isLong = text.startsWith(quote.repeat(3), start)
  const closing = isLong ? quote.repeat(3) : quote
  for (let at = start + closing.length; at < text.length; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1
    else if (text.startsWith(closing, at)) {
      const end = at + closing.length
      // A multi-line string may end with up to two quotes of its own.
      return isLong ? end + (/^["']{0,2}/.exec(text.slice(end, end + 2))?.[0].length ?? 0) : end
    }
  }
  return text.length
}

/** Splits a dotted key. The parser decodes its parts, as there are three ways to write one. */
function keyPath(key: string): string[] {
  const path: string[] = []
  let value: unknown = parse(`${key.trim()} = 0`)
  while (typeof value === 'object' && value !== null) {
    const [entry] = Object.entries(value)
    if (entry === undefined) break
    path.push(entry[0])
    value = entry[1]
  }
  return path
}

function skipBlanks(text: string, from: number): number {
  let at = from
  while (text[at] === ' ' || text[at] === '\t') at += 1
  return at
}

function lineEndFrom(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at === -1 ? text.length : at
}

function behindLine(text: string, from: number): number {
  return Math.min(lineEndFrom(text, from) + 1, text.length)
}
