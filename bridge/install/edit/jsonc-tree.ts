import { type Node, type ParseError, createScanner, parseTree, printParseErrorCode } from 'jsonc-parser'
import { TextFaultError, indentAt, isFirstOnLine, lineEndOf, positionOf } from './text.ts'

// The library's const enums do not exist at run time.
const commaToken = 5
const endToken = 17
const lineComment = 12

/**
 * Parses JSON with comments and trailing commas, which every client here accepts or ignores. Returns undefined for
 * only white space and comments. Throws {@link TextFaultError} at the first error.
 */
export function parseJsonc(text: string): Node | undefined {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (first === undefined) return root
  const detail = printParseErrorCode(first.error)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
  throw new TextFaultError({ kind: 'syntax', ...positionOf(text, first.offset), detail })
}

export function propertiesOf(node: Node): readonly Node[] {
  return node.children ?? []
}

export function keyOf(property: Node): string {
  return String(property.children?.[0]?.value)
}

export function valueOf(property: Node): Node | undefined {
  return property.children?.[1]
}

/** Finds the property with that key. Throws {@link TextFaultError} for duplicates. `path` is the path of `node`. */
export function findProperty(node: Node, key: string, path: readonly string[]): Node | undefined {
  const found = propertiesOf(node).filter((property) => keyOf(property) === key)
  if (found.length > 1) throw new TextFaultError({ kind: 'duplicate', path: [...path, key] })
  return found[0]
}

/** Returns the offset of the comma between two offsets, ignoring comments. */
export function findComma(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(from)
  for (let kind: number = scanner.scan(); kind !== endToken; kind = scanner.scan()) {
    if (scanner.getTokenOffset() >= to) return undefined
    if (kind === commaToken) return scanner.getTokenOffset()
  }
  return undefined
}

/** Returns whether a line comment ends at `offset`. */
export function isLineCommentBefore(text: string, offset: number): boolean {
  const scanner = createScanner(text, false)
  for (let kind: number = scanner.scan(); kind !== endToken; kind = scanner.scan()) {
    const end = scanner.getTokenOffset() + scanner.getTokenLength()
    if (end >= offset) return end === offset && kind === lineComment
  }
  return false
}

/** The layout of a file, as far as new lines need it. */
export interface JsonStyle {
  lineEnd: '\n' | '\r\n'
  /** One step of indentation. */
  unit: string
}

/** Detects the style of a file; two spaces by default. */
export function jsonStyleOf(text: string, root: Node | undefined): JsonStyle {
  const first = root === undefined ? undefined : propertiesOf(root)[0]
  const indent = first && isFirstOnLine(text, first.offset) ? indentAt(text, first.offset) : ''
  return { lineEnd: lineEndOf(text), unit: indent === '' ? '  ' : indent }
}

/** Returns whether the properties of an object are on one line, so that another one goes there too. */
export function isOnOneLine(text: string, node: Node): boolean {
  return propertiesOf(node).length > 0 && !text.slice(node.offset, node.offset + node.length).includes('\n')
}

/** Returns whether an object has no blank after its first colon, as programs write on one line. */
export function isMinified(text: string, node: Node): boolean {
  const [first] = propertiesOf(node)
  const value = first && valueOf(first)
  if (first === undefined || value === undefined) return false
  return text.slice(first.offset, value.offset).length === JSON.stringify(keyOf(first)).length + 1
}

/** Returns the indentation inside an object: that of its first property, or else one step more than its own line. */
export function childIndentOf(text: string, node: Node, style: JsonStyle): string {
  const [first] = propertiesOf(node)
  if (first && isFirstOnLine(text, first.offset)) return indentAt(text, first.offset)
  return indentAt(text, node.offset) + style.unit
}

/** Renders JSON on several lines; all but the first begin with `indent`. */
export function renderJson(value: unknown, indent: string, style: JsonStyle): string {
  return JSON.stringify(value, undefined, style.unit).replaceAll('\n', style.lineEnd + indent)
}

/** Renders JSON on one line, with blanks unless `minified`. */
export function renderJsonLine(value: unknown, minified: boolean): string {
  if (minified || typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => renderJsonLine(item, false)).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${renderJsonLine(member, false)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
