/** Reasons why a file's text cannot be read or edited. `line` and `column` count from 1. */
type TextFault =
  | { kind: 'syntax'; line: number; column: number; detail: string }
  /**
   * About the value at `path`; an empty path means the whole file. `not_object`: it is not an object or table. `duplicate`: its key is
   * there twice, and programs differ in which one they use. `form`: it is written inline or with dotted keys, where an edit would
   * affect more than the entry.
   */
  | { kind: 'not_object' | 'duplicate' | 'form'; path: readonly string[] }

/** Thrown when a text stays unchanged because of `fault`. The message has no name of the file, and no content but key names. */
export class TextFaultError extends Error {
  override readonly name = 'TextFaultError'
  readonly fault: TextFault

  constructor(fault: TextFault) {
    super(sentenceOf(fault))
    this.fault = fault
  }
}

const sentences = {
  not_object: 'is not an object.',
  duplicate: 'is there twice.',
  form: 'is written inline or with dotted keys.',
} as const

function sentenceOf(fault: TextFault): string {
  if (fault.kind === 'syntax') return `line ${fault.line}, column ${fault.column}: ${fault.detail}.`
  const what = fault.path.length === 0 ? 'its content' : JSON.stringify(fault.path.join('.'))
  return `${what} ${sentences[fault.kind]}`
}

/** Returns the first line end of a text; `\n` if it has none. */
export function lineEndOf(text: string): string {
  return /\r?\n/.exec(text)?.[0] ?? '\n'
}
