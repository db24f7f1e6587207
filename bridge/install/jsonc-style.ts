import type { Node } from 'jsonc-parser'
import { keyOf, propertiesOf, valueOf } from './jsonc-tree.ts'
import { indentAt, isFirstOnLine, lineEndOf } from './text-edit.ts'

/** How a file is laid out, as far as new lines in it have to know. */
export interface JsonStyle {
  lineEnd: '\n' | '\r\n'
  /** One step of indentation. */
  unit: string
}

/** The style of a file; two blanks where nothing tells. */
export function jsonStyleOf(text: string, root: Node | undefined): JsonStyle {
  const first = root === undefined ? undefined : propertiesOf(root)[0]
  const indent = first && isFirstOnLine(text, first.offset) ? indentAt(text, first.offset) : ''
  return { lineEnd: lineEndOf(text), unit: indent === '' ? '  ' : indent }
}

/** Whether the properties of an object stand on one line, so that another one goes there too. */
export function isOnOneLine(text: string, node: Node): boolean {
  return propertiesOf(node).length > 0 && !text.slice(node.offset, node.offset + node.length).includes('\n')
}

/** Whether an object has no blank after its first colon, as what a program wrote on one line. */
export function isMinified(text: string, node: Node): boolean {
  const [first] = propertiesOf(node)
  const value = first && valueOf(first)
  if (first === undefined || value === undefined) return false
  return text.slice(first.offset, value.offset).length === JSON.stringify(keyOf(first)).length + 1
}

/** Indentation of what stands in an object: that of its first property, else one step more than its own line. */
export function childIndentOf(text: string, node: Node, style: JsonStyle): string {
  const [first] = propertiesOf(node)
  if (first && isFirstOnLine(text, first.offset)) return indentAt(text, first.offset)
  return indentAt(text, node.offset) + style.unit
}

/** JSON on several lines; all but the first begin with `indent`. */
export function renderJson(value: unknown, indent: string, style: JsonStyle): string {
  return JSON.stringify(value, undefined, style.unit).replaceAll('\n', style.lineEnd + indent)
}

/** JSON on one line, with blanks as a person would write it unless `minified`. */
export function renderJsonLine(value: unknown, minified: boolean): string {
  if (minified || typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => renderJsonLine(item, false)).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${renderJsonLine(member, false)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}
