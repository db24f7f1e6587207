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

/** Names in a column, and texts beside it that are folded at `width` characters. Each line begins with two blanks. */
export function definitionList(
  rows: readonly (readonly [name: string, text: string])[],
  width = 100,
): string {
  const column = Math.max(0, ...rows.map(([name]) => name.length)) + 4
  return rows
    .map(([name, text]) => {
      const lines = foldText(text, Math.max(20, width - column))
      return `  ${name}`.padEnd(column) + lines.join(`\n${' '.repeat(column)}`)
    })
    .join('\n')
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
