import { plainText } from './plain-text.ts'
import { paragraph } from './table.ts'

/** Result of a check: sound, for the user to check because no request can, needing attention, or broken. */
export type FindingState = 'ok' | 'note' | 'warn' | 'fail'

/** One line of `doctor`. Contains no secrets. */
export interface Finding {
  /** Stable, for scripts. */
  name: string
  state: FindingState
  message: string
  /** Next step. */
  fix?: string
  /** The exit code that a failure stands for, where a program has several. Not printed. */
  exit?: number
}

/** Layout of findings. */
export interface FindingLayout {
  nameWidth: number
  colour(colour: 'green' | 'yellow' | 'red', text: string): string
  /** Width of the terminal, for folding texts. Undefined: each text is one line, which is easier to search. */
  columns?: number | undefined
}

const colours = { ok: 'green', note: 'yellow', warn: 'yellow', fail: 'red' } as const
const minTextWidth = 30

/**
 * Formats a finding for display: state, name and message, and below it the next step. Escapes control characters in
 * text from elsewhere.
 */
export function findingText(
  { state, name, message, fix }: Finding,
  { nameWidth, colour, columns }: FindingLayout,
): string {
  const column = 8 + nameWidth
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(minTextWidth, columns - column)
  const folded = (text: string, indent: number): string =>
    paragraph(plainText(text), width - indent + column).replaceAll('\n', `\n${' '.repeat(indent)}`)
  const line = `${colour(colours[state], state.padEnd(4))}  ${name.padEnd(nameWidth)}  ${folded(message, column)}`
  return fix === undefined ? line : `${line}\n${' '.repeat(column)}-> ${folded(fix, column + 3)}`
}

/** Counts the findings of each kind and names the next step. */
export function findingSummary(findings: readonly Finding[]): string {
  const count = (state: FindingState): number => findings.filter((finding) => finding.state === state).length
  const [failed, warnings, notes] = [count('fail'), count('warn'), count('note')]
  const noted = notes === 0 ? '' : `${counted(notes, 'note')} to check yourself, `
  const all = `${count('ok')} ok, ${noted}${counted(warnings, 'warning')}, ${failed} failed.`
  if (failed > 0) return `${all} Repair what failed, from the top, and run doctor again.`
  return warnings > 0 ? `${all} Nothing is broken; read the warnings once.` : all
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
