import { diffArrays } from 'diff'

/** One line of a diff. */
interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

const contextLines = 3
/** Files with more differing lines are shown as replaced. */
const maxEditLength = 4000

/**
 * Compares two texts line by line for display, as `diff -u` does. Empty if they are equal. Masks apparent secrets of
 * other entries, so the result is not a patch.
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

/** Masks bearer tokens and the values of keys that are named like secrets. */
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

/** Shows all lines as removed and added where comparing would take long. */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const lines = (sign: DiffLine['sign'], texts: readonly string[]): DiffLine[] =>
    texts.map((text) => ({ sign, text }))
  const changes = diffArrays([...before], [...after], { maxEditLength })
  if (changes === undefined) return [...lines('-', before), ...lines('+', after)]
  return changes.flatMap(({ added, removed, value }) => lines(added ? '+' : removed ? '-' : ' ', value))
}
