import { diffArrays } from 'diff'

/** One line of a difference: it stays, goes or comes. */
interface DiffLine {
  sign: ' ' | '-' | '+'
  text: string
}

const contextLines = 3
/** Files that differ in more lines are shown as replaced. */
const maxEditLength = 4000

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

/** All of one before all of the other where comparing them would take long. */
function compare(before: readonly string[], after: readonly string[]): DiffLine[] {
  const lines = (sign: DiffLine['sign'], texts: readonly string[]): DiffLine[] =>
    texts.map((text) => ({ sign, text }))
  const changes = diffArrays([...before], [...after], { maxEditLength })
  if (changes === undefined) return [...lines('-', before), ...lines('+', after)]
  return changes.flatMap(({ added, removed, value }) => lines(added ? '+' : removed ? '-' : ' ', value))
}
