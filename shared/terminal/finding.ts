import { plainText } from './plain-text.ts'
import { paragraph } from './table.ts'

/** The result of a check: fine, worth knowing, or broken. */
export type FindingState = 'ok' | 'warn' | 'fail'

/** One line of `doctor`. Nothing secret is in it. */
export interface Finding<Name extends string = string> {
  /** Stable, for scripts. */
  name: Name
  state: FindingState
  message: string
  /** What to do about it. */
  fix?: string
}

/** All is well. */
export function ok<Name extends string>(name: Name, message: string): Finding<Name> {
  return { name, state: 'ok', message }
}

/**
 * Nothing is wrong, and nothing that this program could see would ever say more: to be read once. It counts as ok, so that
 * warnings are what somebody can end.
 */
export function note<Name extends string>(name: Name, message: string, fix: string): Finding<Name> {
  return { name, state: 'ok', message: `Note: ${message}`, fix }
}

/** It works, or may work, and somebody should know. */
export function warn<Name extends string>(name: Name, message: string, fix?: string): Finding<Name> {
  return { name, state: 'warn', message, ...(fix !== undefined && { fix }) }
}

/** Something does not work; every such finding says what to do. */
export function fail<Name extends string>(name: Name, message: string, fix: string): Finding<Name> {
  return { name, state: 'fail', message, fix }
}

/** How a finding is laid out. */
export interface FindingLayout {
  nameWidth: number
  colour(colour: 'green' | 'yellow' | 'red', text: string): string
  /** Of the terminal, where texts are folded. Undefined: each text is one line, so that it can be searched for. */
  columns?: number | undefined
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const
const minTextWidth = 30

/** A finding as lines for people: state, name and message, and below it what to do. Text of others in it is made plain. */
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

/** How many findings there are of each kind, and what to do next. */
export function findingSummary(findings: readonly Finding[]): string {
  const count = (state: FindingState): number => findings.filter((finding) => finding.state === state).length
  const [failed, warnings] = [count('fail'), count('warn')]
  const counted = `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${failed} failed.`
  if (failed > 0) return `${counted} Repair what failed, from the top, and run doctor again.`
  return warnings > 0 ? `${counted} Nothing is broken; read the warnings once.` : counted
}
