/** One line of a difference: it stays, goes or comes. */
interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

const contextLines = 3
/** Above this many pairs of lines the middle is shown as replaced: comparing them would take long. */
const mostPairs = 4_000_000

/**
 * The difference of two texts, line by line as `diff -u` shows it, for people. Empty if they are equal. What looks like a
 * secret of somebody else's entry is masked, so it is no patch.
 */
export function lineDiff(before: string, after: string): string {
  if (before === after) return ''
  const lines = compare(toLines(before), toLines(after))
  const shown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - contextLines), index + contextLines + 1).some(({ sign }) => sign !== ' '),
  )
  const output: string[] = []
  let [oldLine, newLine] = [1, 1]
  for (const [index, { sign, text }] of lines.entries()) {
    if (shown[index] === true) {
      if (shown[index - 1] !== true) output.push(`@@ line ${before === '' ? newLine : oldLine} @@`)
      output.push(sign + maskSecrets(text))
    }
    if (sign !== '+') oldLine += 1
    if (sign !== '-') newLine += 1
  }
  return output.join('\n')
}

/** A line with the values of keys that are called like secrets, and bearer tokens, replaced. */
export function maskSecrets(line: string): string {
  return line
    .replaceAll(
      /((?:token|secret|password|authorization|cookie|api[-_]?key|credential)[\w-]*["']?\s*[=:]\s*)(["'])(?:(?!\2).)+\2/gi,
      '$1$2[masked]$2',
    )
    .replaceAll(
      /((?:token|secret|password|authorization|cookie|api[-_]?key)[\w-]*\s*[=:]\s*)[^"'\s,[\]{}]{6,}/gi,
      '$1[masked]',
    )
    .replaceAll(/\b(bearer\s+)[^"'\s,]{6,}/gi, '$1[masked]')
    .replaceAll(/\b(?:sk|pk|ghp|gho|github_pat|glpat|xox[abp])[-_][\w-]{8,}/g, '[masked]')
}

function toLines(text: string): string[] {
  if (text === '') return []
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  else lines.push('\\ no line end at the end of the file')
  return lines
}

function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1
  let tail = 0
  const most = Math.min(before.length, after.length) - head
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1
  const stays = (text: string): DiffLine => ({ sign: ' ', text })
  return [
    ...before.slice(0, head).map(stays),
    ...compareMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(stays),
  ]
}

/** By the longest common subsequence; all of one before all of the other where that would take long. */
function compareMiddle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const lines: DiffLine[] = []
  const commonFrom = commonLengths(before, after)
  let [row, column] = [0, 0]
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]]
    if (old !== undefined && old === fresh && commonFrom(row, column) > 0) {
      lines.push({ sign: ' ', text: old })
      row += 1
      column += 1
    } else if (old !== undefined && commonFrom(row + 1, column) >= commonFrom(row, column + 1)) {
      lines.push({ sign: '-', text: old })
      row += 1
    } else {
      // Above, the lines of `before` ran out, or waiting with this one keeps more of them.
      lines.push(fresh === undefined ? { sign: '-', text: old ?? '' } : { sign: '+', text: fresh })
      if (fresh === undefined) row += 1
      else column += 1
    }
  }
  return lines
}

/** How many lines the two have in common, in order, from a pair of positions on. */
function commonLengths(
  before: readonly string[],
  after: readonly string[],
): (row: number, column: number) => number {
  if (before.length * after.length > mostPairs) return () => 0
  const width = after.length + 1
  const lengths = new Uint32Array((before.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      lengths[row * width + column] =
        before[row] === after[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  // Beyond the last column the first of the next row would be read.
  return (row, column) => (column > after.length ? 0 : at(row, column))
}
