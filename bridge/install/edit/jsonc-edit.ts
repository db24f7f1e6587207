import {
  applyEdits,
  createScanner,
  type Edit,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { lineEndOf, TextFaultError } from './text.ts'

// `modify` of jsonc-parser is not used: it drops the comments beside a removed member, leaves a comma behind the last one that had a
// trailing one, and formats the lines of other members.

/**
 * Parses JSON with comments and trailing commas, which every client here accepts or ignores. Returns undefined for
 * only white space and comments. Throws {@link TextFaultError} at the first error.
 */
export function parseJsonc(text: string): Node | undefined {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  const [first] = errors
  if (first === undefined) return root
  const before = text.slice(0, first.offset)
  const detail = printParseErrorCode(first.error)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
  throw new TextFaultError({
    kind: 'syntax',
    line: before.split('\n').length,
    column: first.offset - before.lastIndexOf('\n'),
    detail,
  })
}

export function membersOf(node: Node): readonly Node[] {
  return node.children ?? []
}

export function keyOf(member: Node): string {
  return String(member.children?.[0]?.value)
}

export function valueOf(member: Node): Node | undefined {
  return member.children?.[1]
}

/** Reads the members of the object at `keys` by name, the last of duplicates. Empty if it is missing. */
export function readJsonEntries(text: string, keys: readonly string[]): Map<string, unknown> {
  const { node, missing } = descend(parseJsonc(text), keys)
  if (node === undefined || missing.length > 0) return new Map()
  return new Map(
    membersOf(node).map((member) => {
      const value = valueOf(member)
      return [keyOf(member), value && getNodeValue(value)]
    }),
  )
}

/** Sets `keys.name` to `value`, creating missing objects on the path. Throws {@link TextFaultError}. */
export function setJsonEntry(text: string, keys: readonly string[], name: string, value: unknown): string {
  const root = parseJsonc(text)
  const style = styleOf(text, root)
  const { node, missing } = descend(root, keys)
  const [key = name] = missing
  const rest = missing.length > 0 ? [...missing.slice(1), name] : []
  const wrapped = rest.reduceRight<unknown>((inner, outer) => ({ [outer]: inner }), value)
  if (node === undefined) {
    const before = text.trim() === '' ? '' : text.trimEnd() + style.lineEnd
    return before + render({ [key]: wrapped }, '', style) + style.lineEnd
  }
  const existing = missing.length === 0 ? findMember(node, name, keys) : undefined
  const old = existing && valueOf(existing)
  if (existing === undefined || old === undefined)
    return applyEdits(text, insertion(text, node, key, wrapped, style))
  const content = render(value, indentAt(text, existing.offset), style)
  return applyEdits(text, [{ offset: old.offset, length: old.length, content }])
}

/** Removes `keys.name` and keeps adjacent comments. */
export function removeJsonEntry(text: string, keys: readonly string[], name: string): string {
  const { node, missing } = descend(parseJsonc(text), keys)
  const member = node && missing.length === 0 ? findMember(node, name, keys) : undefined
  return node && member ? applyEdits(text, removal(text, node, member)) : text
}

/** Returns the deepest existing object on the path `keys`, and the missing keys. */
function descend(
  root: Node | undefined,
  keys: readonly string[],
): { node: Node | undefined; missing: readonly string[] } {
  if (root && root.type !== 'object') throw new TextFaultError({ kind: 'not_object', path: [] })
  let node = root
  for (const [depth, key] of keys.entries()) {
    const member = node && findMember(node, key, keys.slice(0, depth))
    if (member === undefined) return { node, missing: keys.slice(depth) }
    const value = valueOf(member)
    if (value?.type !== 'object') {
      throw new TextFaultError({ kind: 'not_object', path: keys.slice(0, depth + 1) })
    }
    node = value
  }
  return { node, missing: [] }
}

/** Finds the member with that key. Throws {@link TextFaultError} for duplicates. `path` is the path of `node`. */
function findMember(node: Node, key: string, path: readonly string[]): Node | undefined {
  const [found, second] = membersOf(node).filter((member) => keyOf(member) === key)
  if (second) throw new TextFaultError({ kind: 'duplicate', path: [...path, key] })
  return found
}

/** The layout of a file, as far as new lines need it. */
interface Style {
  lineEnd: string
  /** One step of indentation. */
  unit: string
}

function styleOf(text: string, root: Node | undefined): Style {
  const first = root && membersOf(root)[0]
  const unit = first && isFirstOnLine(text, first.offset) ? indentAt(text, first.offset) : ''
  return { lineEnd: lineEndOf(text), unit: unit === '' ? '  ' : unit }
}

/** Renders on several lines; all but the first begin with `indent`. */
function render(value: unknown, indent: string, { lineEnd, unit }: Style): string {
  return JSON.stringify(value, undefined, unit).replaceAll('\n', lineEnd + indent)
}

/** Inserts a member on lines of its own behind the last one and its comments, with a trailing comma if there was one. */
function insertion(text: string, node: Node, key: string, value: unknown, style: Style): Edit[] {
  const close = node.offset + node.length - 1
  const contentEnd = endOfContent(text, node.offset + 1, close)
  const members = membersOf(node)
  const [first] = members
  const last = members.at(-1)
  const outer = indentAt(text, node.offset)
  const indent =
    first && isFirstOnLine(text, first.offset) ? indentAt(text, first.offset) : outer + style.unit
  const line = `${style.lineEnd}${indent}${JSON.stringify(key)}: ${render(value, indent, style)}`
  if (last === undefined) {
    // A brace on the line of a comment moves to a line of its own.
    if (text.slice(contentEnd, close).includes('\n')) return [inserted(contentEnd, line)]
    return [{ offset: contentEnd, length: close - contentEnd, content: line + style.lineEnd + outer }]
  }
  const lastEnd = last.offset + last.length
  if (commaIn(tokensBetween(text, lastEnd, close)) !== undefined) return [inserted(contentEnd, `${line},`)]
  // Two edits at one offset would have no defined order.
  if (lastEnd === contentEnd) return [inserted(lastEnd, `,${line}`)]
  return [inserted(lastEnd, ','), inserted(contentEnd, line)]
}

function inserted(offset: number, content: string): Edit {
  return { offset, length: 0, content }
}

/** Removes a member with one comma and the blanks before it. Keeps comments. */
function removal(text: string, node: Node, member: Node): Edit[] {
  const open = node.offset + 1
  const close = node.offset + node.length - 1
  const end = member.offset + member.length
  const members = membersOf(node)
  const index = members.indexOf(member)
  const before = tokensBetween(text, endOf(members[index - 1]) ?? open, member.offset)
  const behind = tokensBetween(text, end, members[index + 1]?.offset ?? close)
  const comma = commaIn(behind) ?? commaIn(before)
  // A comment between the member and its comma stays.
  const isNext = comma !== undefined && comma === behind[0]
  const stop = isNext ? comma.offset + 1 : end
  if (members.length === 1 && [...before, ...behind].every((found) => found === comma)) {
    return [{ offset: open, length: close - open, content: '' }]
  }
  const isBelowComment = before.at(-1)?.kind === token.lineComment
  const keepsLine = isLineKept(text, member, stop, isBelowComment)
  const start = keepsLine ? member.offset : endOfContent(text, open, member.offset)
  const removed = { offset: start, length: stop - start, content: '' }
  return isNext ? [removed] : [...takenOut(comma), removed]
}

function takenOut(comma: Token | undefined): Edit[] {
  return comma === undefined ? [] : [{ offset: comma.offset, length: 1, content: '' }]
}

/**
 * Returns whether the line end before a removed member stays: a line comment before it would swallow what follows, and a comment
 * after it would seem to belong to the member above.
 */
function isLineKept(text: string, member: Node, stop: number, isBelowComment: boolean): boolean {
  const rest = /^.*/.exec(text.slice(stop))?.[0].trim() ?? ''
  return isFirstOnLine(text, member.offset) && rest !== '' && (isBelowComment || rest.startsWith('/'))
}

// The library's const enum does not exist at run time.
const token = { comma: 5, lineComment: 12, lineBreak: 14, blanks: 15, end: 17 } as const

interface Token {
  kind: number
  offset: number
}

function commaIn(tokens: readonly Token[]): Token | undefined {
  return tokens.find(({ kind }) => kind === token.comma)
}

function endOf(member: Node | undefined): number | undefined {
  return member && member.offset + member.length
}

/** Returns the commas and comments between two offsets. */
function tokensBetween(text: string, from: number, to: number): Token[] {
  const scanner = createScanner(text)
  scanner.setPosition(from)
  const tokens: Token[] = []
  for (let kind: number = scanner.scan(); kind !== token.end; kind = scanner.scan()) {
    const offset = scanner.getTokenOffset()
    if (offset >= to) break
    if (kind !== token.lineBreak && kind !== token.blanks) tokens.push({ kind, offset })
  }
  return tokens
}

/** Returns the offset after the last character before `offset` that is not white space, at least `from`. */
function endOfContent(text: string, from: number, offset: number): number {
  return from + text.slice(from, offset).trimEnd().length
}

/** Returns the text before `offset` on its line. */
function lineBefore(text: string, offset: number): string {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(lineBefore(text, offset))?.[0] ?? ''
}

function isFirstOnLine(text: string, offset: number): boolean {
  return lineBefore(text, offset).trim() === ''
}
