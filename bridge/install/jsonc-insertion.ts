import type { Node } from 'jsonc-parser'
import {
  childIndentOf,
  isMinified,
  isOnOneLine,
  type JsonStyle,
  renderJson,
  renderJsonLine,
} from './jsonc-style.ts'
import { findComma, propertiesOf, valueOf } from './jsonc-tree.ts'
import { endOfContent, indentAt, isFirstOnLine, type TextEdit } from './text-edit.ts'

/** What gives a property another value, laid out as the property is. */
export function jsonReplacement(text: string, property: Node, value: unknown, style: JsonStyle): TextEdit[] {
  const { offset = 0, length = 0 } = valueOf(property) ?? {}
  const onOneLine = !isFirstOnLine(text, property.offset)
  const content = onOneLine
    ? renderJsonLine(value, !/:\s/.test(text.slice(property.offset, offset)))
    : renderJson(value, indentAt(text, property.offset), style)
  return [{ offset, length, content }]
}

/**
 * What puts a property behind the last one of an object, and behind comments there; with a comma after it if the object has
 * one.
 */
export function jsonInsertion(
  text: string,
  node: Node,
  key: string,
  value: unknown,
  style: JsonStyle,
): TextEdit[] {
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
  // Two edits at one offset would have no order.
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

/** In an object of nothing but comments. One that is closed on their line gets a last line of its own. */
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
