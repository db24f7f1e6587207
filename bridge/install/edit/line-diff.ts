import { structuredPatch } from 'diff'

const context = 3
/** Files with more differing lines are shown as replaced. */
const maxEditLength = 1000

/**
 * Compares two texts line by line for display, as `diff -u` does. Empty if they are equal. Masks apparent secrets of
 * other entries, so the result is not a patch.
 */
export function lineDiff(before: string, after: string): string {
  if (before === after) return ''
  const options = { context, maxEditLength, stripTrailingCr: true }
  const patch = structuredPatch('', '', before, after, '', '', options)
  const hunks = patch?.hunks ?? [
    { oldStart: 1, newStart: 1, lines: [...signed('-', before), ...signed('+', after)] },
  ]
  const textOf = ({ oldStart, newStart, lines }: (typeof hunks)[number]): string =>
    [`@@ line ${before === '' ? newStart : oldStart} @@`, ...lines].map(maskSecrets).join('\n')
  return hunks.map(textOf).join('\n')
}

function signed(sign: '-' | '+', text: string): string[] {
  return text
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => sign + line)
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
