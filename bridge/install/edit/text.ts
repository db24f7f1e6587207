/** Reasons why a file's text cannot be read or edited. `line` and `column` count from 1. */
type TextFault =
  | { kind: 'syntax'; line: number; column: number; detail: string }
  /** The value at `path` is not an object or table. An empty path means the whole file. */
  | { kind: 'not_object'; path: readonly string[] }
  /** A duplicate key: programs differ in which one they use. */
  | { kind: 'duplicate'; path: readonly string[] }
  /** Written inline or with dotted keys, where an edit would affect more than the entry. */
  | { kind: 'form'; path: readonly string[] }

/** Thrown when a text stays unchanged because of `fault`. */
export class TextFaultError extends Error {
  readonly fault: TextFault

  constructor(fault: TextFault, cause?: unknown) {
    super(describeTextFault(fault), { cause })
    this.name = 'TextFaultError'
    this.fault = fault
  }
}

/** Describes a fault in one sentence, without the name of the file or any content but key names. */
export function describeTextFault(fault: TextFault): string {
  switch (fault.kind) {
    case 'syntax':
      return `line ${fault.line}, column ${fault.column}: ${fault.detail}.`
    case 'not_object':
      return fault.path.length === 0
        ? 'its content is not an object.'
        : `${JSON.stringify(fault.path.join('.'))} is not an object.`
    case 'duplicate':
      return `${JSON.stringify(fault.path.join('.'))} is there twice.`
    case 'form':
      return `${JSON.stringify(fault.path.join('.'))} is written inline or with dotted keys.`
  }
}

/** Returns the position of an offset, counted from 1; a column is one UTF-16 unit, as in editors. */
export function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset)
  const lastBreak = before.lastIndexOf('\n')
  return { line: before.split('\n').length, column: offset - lastBreak }
}

/** Replaces `length` characters at `offset` with `content`. */
export interface TextEdit {
  offset: number
  length: number
  content: string
}

/** Applies edits that do not overlap. Keeps everything else byte for byte. */
export function applyTextEdits(text: string, edits: readonly TextEdit[]): string {
  let result = text
  for (const { offset, length, content } of [...edits].sort((a, b) => b.offset - a.offset)) {
    result = result.slice(0, offset) + content + result.slice(offset + length)
  }
  return result
}

/** Returns the first line end of a text; `\n` if it has none. */
export function lineEndOf(text: string): '\n' | '\r\n' {
  return /\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n'
}

/** Returns the offset after the last character before `offset` that is not white space, at least `from`. */
export function endOfContent(text: string, from: number, offset: number): number {
  return from + text.slice(from, offset).trimEnd().length
}

/** Returns the indentation of the line at `offset`. */
export function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? ''
}

/** Returns whether only white space precedes `offset` on its line. */
export function isFirstOnLine(text: string, offset: number): boolean {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return text.slice(start, offset).trim() === ''
}
