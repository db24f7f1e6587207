import { type Node, getNodeValue } from 'jsonc-parser'
import {
  type JsonStyle,
  childIndentOf,
  findComma,
  findProperty,
  isLineCommentBefore,
  isMinified,
  isOnOneLine,
  jsonStyleOf,
  keyOf,
  parseJsonc,
  propertiesOf,
  renderJson,
  renderJsonLine,
  valueOf,
} from './jsonc-tree.ts'
import {
  type TextEdit,
  TextFaultError,
  applyTextEdits,
  endOfContent,
  indentAt,
  isFirstOnLine,
} from './text.ts'

/** Replaces the value of a property, keeping its layout. */
function jsonReplacement(text: string, property: Node, value: unknown, style: JsonStyle): TextEdit[] {
  const { offset = 0, length = 0 } = valueOf(property) ?? {}
  const onOneLine = !isFirstOnLine(text, property.offset)
  const content = onOneLine
    ? renderJsonLine(value, !/:\s/.test(text.slice(property.offset, offset)))
    : renderJson(value, indentAt(text, property.offset), style)
  return [{ offset, length, content }]
}

/**
 * Inserts a property after the last one of an object and any comments there, with a trailing comma if the object has
 * one.
 */
function jsonInsertion(text: string, node: Node, key: string, value: unknown, style: JsonStyle): TextEdit[] {
  const close = node.offset + node.length - 1
  const contentEnd = endOfContent(text, node.offset + 1, close)
  const last = propertiesOf(node).at(-1)
  if (last === undefined) {
    const line = style.lineEnd + propertyLine(text, node, key, value, style)
    return [belowComments(text, node, contentEnd, line, style)]
  }
  const lastEnd = last.offset + last.length
  const hasComma = findComma(text, lastEnd, close) !== undefined
  const property = isOnOneLine(text, node)
    ? propertyBehind(text, node, key, value)
    : style.lineEnd + propertyLine(text, node, key, value, style)
  if (hasComma) return [{ offset: contentEnd, length: 0, content: `${property},` }]
  // Two edits at one offset would have no defined order.
  if (lastEnd === contentEnd) return [{ offset: lastEnd, length: 0, content: `,${property}` }]
  return [
    { offset: lastEnd, length: 0, content: ',' },
    { offset: contentEnd, length: 0, content: property },
  ]
}

function propertyLine(text: string, node: Node, key: string, value: unknown, style: JsonStyle): string {
  const indent = childIndentOf(text, node, style)
  return `${indent}${JSON.stringify(key)}: ${renderJson(value, indent, style)}`
}

function propertyBehind(text: string, node: Node, key: string, value: unknown): string {
  if (isMinified(text, node)) return `${JSON.stringify(key)}:${renderJsonLine(value, true)}`
  return ` ${JSON.stringify(key)}: ${renderJsonLine(value, false)}`
}

/** Inserts into an object that contains only comments. A brace on their line moves to a line of its own. */
function belowComments(
  text: string,
  node: Node,
  contentEnd: number,
  line: string,
  style: JsonStyle,
): TextEdit {
  const close = node.offset + node.length - 1
  if (text.slice(contentEnd, close).includes('\n')) return { offset: contentEnd, length: 0, content: line }
  const content = line + style.lineEnd + indentAt(text, node.offset)
  return { offset: contentEnd, length: close - contentEnd, content }
}

/** Removes a property with one comma and the blanks before it. Keeps comments. */
function jsonRemoval(text: string, node: Node, property: Node): TextEdit[] {
  const properties = propertiesOf(node)
  const open = node.offset + 1
  const close = node.offset + node.length - 1
  const { comma, stop } = commaToTake(text, properties, property, close)
  const blanksStart = endOfContent(text, open, property.offset)
  const isAlone = properties.length === 1 && blanksStart === open && text.slice(stop, close).trim() === ''
  if (isAlone) return [{ offset: open, length: close - open, content: '' }]
  const start = keepsItsLine(text, blanksStart, property, stop) ? property.offset : blanksStart
  return [...comma, { offset: start, length: stop - start, content: '' }]
}

/**
 * Returns the comma after the property, or before it if it is the last; `stop` is the end of the text removed in one
 * piece.
 */
function commaToTake(
  text: string,
  properties: readonly Node[],
  property: Node,
  close: number,
): { comma: TextEdit[]; stop: number } {
  const index = properties.indexOf(property)
  const end = property.offset + property.length
  const behind = findComma(text, end, properties[index + 1]?.offset ?? close)
  if (behind !== undefined) {
    // A comment between the property and its comma stays.
    const isNext = text.slice(end, behind).trim() === ''
    return isNext ? { comma: [], stop: behind + 1 } : { comma: [taken(behind)], stop: end }
  }
  const last = properties[index - 1]
  const before = last && findComma(text, last.offset + last.length, property.offset)
  return { comma: before === undefined ? [] : [taken(before)], stop: end }
}

function taken(offset: number): TextEdit {
  return { offset, length: 1, content: '' }
}

/**
 * Returns whether the line end before a removed property has to stay: a line comment before it would swallow what
 * follows, and a comment after it would seem to belong to the property above.
 */
function keepsItsLine(text: string, blanksStart: number, property: Node, stop: number): boolean {
  if (!isFirstOnLine(text, property.offset)) return false
  const lineEnd = text.indexOf('\n', stop)
  const rest = text.slice(stop, lineEnd === -1 ? text.length : lineEnd).trim()
  return rest !== '' && (rest.startsWith('/') || isLineCommentBefore(text, blanksStart))
}

/**
 * Reads the members of the object at `keys` by name, the last of duplicates. Empty if it is missing. Throws {@link
 * TextFaultError}.
 */
export function readJsonEntries(text: string, keys: readonly string[]): Map<string, unknown> {
  const { node, missing } = descend(parseJsonc(text), keys)
  const entries = new Map<string, unknown>()
  if (node === undefined || missing.length > 0) return entries
  for (const property of propertiesOf(node)) {
    const value = valueOf(property)
    entries.set(keyOf(property), value && getNodeValue(value))
  }
  return entries
}

/** Sets `keys.name` to `value`, creating missing objects on the path. Throws {@link TextFaultError}. */
export function setJsonEntry(text: string, keys: readonly string[], name: string, value: unknown): string {
  const root = parseJsonc(text)
  const style = jsonStyleOf(text, root)
  const { node, missing } = descend(root, keys)
  const [key = name] = missing
  const rest = missing.length > 0 ? [...missing.slice(1), name] : []
  const wrapped = rest.reduceRight<unknown>((inner, outer) => ({ [outer]: inner }), value)
  if (node === undefined) {
    const before = text.trim() === '' ? '' : text.trimEnd() + style.lineEnd
    return before + renderJson({ [key]: wrapped }, '', style) + style.lineEnd
  }
  const existing = missing.length === 0 ? findProperty(node, name, keys) : undefined
  const edits = existing
    ? jsonReplacement(text, existing, value, style)
    : jsonInsertion(text, node, key, wrapped, style)
  return applyTextEdits(text, edits)
}

/**
 * Removes `keys.name` and keeps adjacent comments. Returns the text unchanged if it is missing. Throws {@link
 * TextFaultError}.
 */
export function removeJsonEntry(text: string, keys: readonly string[], name: string): string {
  const { node, missing } = descend(parseJsonc(text), keys)
  if (node === undefined || missing.length > 0) return text
  const property = findProperty(node, name, keys)
  return property === undefined ? text : applyTextEdits(text, jsonRemoval(text, node, property))
}

/** Returns the deepest existing object on the path `keys`, and the missing keys. */
function descend(
  root: Node | undefined,
  keys: readonly string[],
): { node: Node | undefined; missing: readonly string[] } {
  if (root && root.type !== 'object') throw new TextFaultError({ kind: 'not_object', path: [] })
  let node = root
  for (const [depth, key] of keys.entries()) {
    const property = node && findProperty(node, key, keys.slice(0, depth))
    if (property === undefined) return { node, missing: keys.slice(depth) }
    const value = valueOf(property)
    if (value?.type !== 'object') {
      throw new TextFaultError({ kind: 'not_object', path: keys.slice(0, depth + 1) })
    }
    node = value
  }
  return { node, missing: [] }
}
