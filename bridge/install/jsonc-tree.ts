import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { positionOf, TextFaultError } from './text-fault.ts'

// const enums of the library are not there at run time.
const commaToken = 5
const endToken = 17
const lineComment = 12

/**
 * The tree of JSON with comments and trailing commas, which every client here takes or ignores. `undefined` if there is
 * nothing but white space and comments. Throws {@link TextFaultError} at the first mistake.
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

/** The property nodes of an object node. */
export function propertiesOf(node: Node): readonly Node[] {
  return node.children ?? []
}

/** Key of a property node. */
export function keyOf(property: Node): string {
  return String(property.children?.[0]?.value)
}

/** Value of a property node. */
export function valueOf(property: Node): Node | undefined {
  return property.children?.[1]
}

/** The property with that key. Throws {@link TextFaultError} if there are two. `path` is what `node` is called. */
export function findProperty(node: Node, key: string, path: readonly string[]): Node | undefined {
  const found = propertiesOf(node).filter((property) => keyOf(property) === key)
  if (found.length > 1) throw new TextFaultError({ kind: 'duplicate', path: [...path, key] })
  return found[0]
}

/** Where the comma between two offsets is, outside comments. */
export function findComma(text: string, from: number, to: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(from)
  for (let kind: number = scanner.scan(); kind !== endToken; kind = scanner.scan()) {
    if (scanner.getTokenOffset() >= to) return undefined
    if (kind === commaToken) return scanner.getTokenOffset()
  }
  return undefined
}

/** Whether a line comment ends at `offset`. */
export function isLineCommentBefore(text: string, offset: number): boolean {
  const scanner = createScanner(text, false)
  for (let kind: number = scanner.scan(); kind !== endToken; kind = scanner.scan()) {
    const end = scanner.getTokenOffset() + scanner.getTokenLength()
    if (end >= offset) return end === offset && kind === lineComment
  }
  return false
}
