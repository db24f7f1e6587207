/** Returns the name closest to a misspelt one; undefined when none is close. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.min(3, Math.floor(given.replaceAll('-', '').length / 3)))
  const [nearest] = names
    .map((name) => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  return nearest && nearest.distance <= limit ? nearest.name : undefined
}

/** Returns ` Did you mean NAME?`, or nothing. */
export function suggestion(given: string, names: readonly string[]): string {
  const name = nearestName(given, names)
  return name === undefined ? '' : ` Did you mean ${name}?`
}

/** Counts insertions, deletions, replacements and swaps of neighbours between two short texts. */
export function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0
  for (let row = 1; row <= a.length; row += 1) {
    rows.push([row])
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwapped = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const best = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
      rows[row]?.push(best)
    }
  }
  return at(a.length, b.length)
}
