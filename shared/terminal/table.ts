/**
 * Formats rows below a head, each column as wide as its widest cell, separated by two blanks, without trailing
 * blanks.
 */
export function textTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((cells) => cells[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, column) => (cells[column] ?? '').padEnd(width))
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line).join('\n')
}

/** Default and maximum width for folding lines. */
const usualWidth = 100
/** Below this width, texts go below their names. */
const minBeside = 30

/**
 * Formats names in a column, with texts folded at `width` characters next to it; where that leaves no room, each text
 * goes below its name. Each line begins with two blanks.
 */
export function definitionList(
  rows: readonly (readonly [name: string, text: string])[],
  width: number = usualWidth,
): string {
  const column = Math.max(0, ...rows.map(([name]) => name.length)) + 4
  const isBeside = width - column >= minBeside
  const indent = isBeside ? column : 6
  return rows
    .map(([name, text]) => {
      const lines = foldText(text, Math.max(20, width - indent))
      const head = isBeside ? `  ${name}`.padEnd(column) : `  ${name}\n${' '.repeat(indent)}`
      return head + lines.join(`\n${' '.repeat(indent)}`)
    })
    .join('\n')
}

/** Folds a text at `width` characters. Never cuts a word. */
export function paragraph(text: string, width: number = usualWidth): string {
  return foldText(text, width).join('\n')
}

/** Returns the line width for a terminal with that many columns; 0 or undefined if there is no terminal. */
export function lineWidth(columns: number | undefined): number {
  return columns ? Math.min(usualWidth, Math.max(40, columns)) : usualWidth
}

function foldText(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
