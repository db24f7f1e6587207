/** Why the text of a file cannot be read or edited. `line` and `column` count from 1. */
type TextFault =
  | { kind: 'syntax'; line: number; column: number; detail: string }
  /** What stands at `path` is not an object or table. The empty path is the whole file. */
  | { kind: 'not_object'; path: readonly string[] }
  /** The same key twice: programs differ in which one they take. */
  | { kind: 'duplicate'; path: readonly string[] }
  /** Written inline or with dotted keys, where an edit would touch more than the entry. */
  | { kind: 'form'; path: readonly string[] }

/** A text that stays as it is, for the reason in `fault`. */
export class TextFaultError extends Error {
  readonly fault: TextFault

  constructor(fault: TextFault, cause?: unknown) {
    super(describeTextFault(fault), { cause })
    this.name = 'TextFaultError'
    this.fault = fault
  }
}

/** One sentence, without the name of the file. Nothing of its content but key names is in it. */
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

/** Where an offset is, counted from 1; a column is one UTF-16 unit, as editors count. */
export function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset)
  const lastBreak = before.lastIndexOf('\n')
  return { line: before.split('\n').length, column: offset - lastBreak }
}

/** `length` characters at `offset` give way to `content`. */
export interface TextEdit {
  offset: number
  length: number
  content: string
}

/** Makes edits that do not overlap. Everything outside them stays byte for byte. */
export function applyTextEdits(text: string, edits: readonly TextEdit[]): string {
  let result = text
  for (const { offset, length, content } of [...edits].sort((a, b) => b.offset - a.offset)) {
    result = result.slice(0, offset) + content + result.slice(offset + length)
  }
  return result
}

/** The line end that a text uses first; `\n` if it has none. */
export function lineEndOf(text: string): '\n' | '\r\n' {
  return /\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n'
}

/** Offset just behind the last character before `offset` that is no white space, not below `from`. */
export function endOfContent(text: string, from: number, offset: number): number {
  return from + text.slice(from, offset).trimEnd().length
}

/** White space that the line of `offset` begins with. */
export function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? ''
}

/** Whether nothing but white space stands before `offset` on its line. */
export function isFirstOnLine(text: string, offset: number): boolean {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return text.slice(start, offset).trim() === ''
}
