/** Rows under a head, each column as wide as its widest cell, two blanks between them, none at the end of a line. */
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

/** As wide as lines are folded where nobody says how wide the terminal is, and at most. */
const usualWidth = 100
/** Narrower, and texts are no longer beside their names. */
const minBeside = 30

/**
 * Names in a column, and texts beside it that are folded at `width` characters; where that leaves no room, each text is
 * below its name. Each line begins with two blanks.
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

/** A text that is folded at `width` characters. A word is never cut. */
export function paragraph(text: string, width: number = usualWidth): string {
  return foldText(text, width).join('\n')
}

/** How wide lines may be on a terminal of so many columns; 0 or undefined for what is none. */
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
