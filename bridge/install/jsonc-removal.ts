import type { Node } from 'jsonc-parser'
import { findComma, isLineCommentBefore, propertiesOf } from './jsonc-tree.ts'
import { endOfContent, isFirstOnLine, type TextEdit } from './text-edit.ts'

/** What takes a property out of an object, with one comma and the blanks before it. Comments stay. */
export function jsonRemoval(text: string, node: Node, property: Node): TextEdit[] {
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

/** The comma behind the property, or before it if it is the last; `stop` is behind what is taken in one piece. */
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
 * Whether the line end before a removed property has to stay: a line comment before it would swallow what follows, and a
 * comment behind it would seem to belong to the property above.
 */
function keepsItsLine(text: string, blanksStart: number, property: Node, stop: number): boolean {
  if (!isFirstOnLine(text, property.offset)) return false
  const lineEnd = text.indexOf('\n', stop)
  const rest = text.slice(stop, lineEnd === -1 ? text.length : lineEnd).trim()
  return rest !== '' && (rest.startsWith('/') || isLineCommentBefore(text, blanksStart))
}
