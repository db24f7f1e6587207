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
