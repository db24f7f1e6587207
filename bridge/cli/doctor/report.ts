import type { Colour, Terminal } from '../terminal/output.ts'
import { plainText } from '../terminal/plain-text.ts'
import { paragraph } from '../terminal/table.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { Finding, FindingState } from './finding.ts'

const colours: Readonly<Record<FindingState, Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' }
const nameWidth = 20

/** Where the message begins. */
const column = 8 + nameWidth

/**
 * A finding as lines for people: state, name and message, and below it what to do. What servers say is in both. On a
 * terminal of `columns` the texts are folded; elsewhere each is one line, so that it can be searched for.
 */
export function findingText(
  { state, name, message, fix }: Finding,
  { colour }: Pick<Terminal, 'colour'>,
  columns?: number,
): string {
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(30, columns - column)
  const folded = (text: string, indent: number): string =>
    paragraph(plainText(text), width - indent + column).replaceAll('\n', `\n${' '.repeat(indent)}`)
  const line = `${colour(colours[state], state.padEnd(4))}  ${name.padEnd(nameWidth)}  ${folded(message, column)}`
  return fix === undefined ? line : `${line}\n${' '.repeat(column)}-> ${folded(fix, column + 3)}`
}

/** How many there are of each kind, and what to do next. */
export function summary(findings: readonly Finding[]): string {
  const count = (state: FindingState): number => findings.filter((finding) => finding.state === state).length
  const [failed, warnings] = [count('fail'), count('warn')]
  const counted = `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${failed} failed.`
  if (failed > 0) return `${counted} Repair what failed, from the top, and run doctor again.`
  return warnings > 0 ? `${counted} Nothing is broken; read the warnings once.` : counted
}

/** A finding as `--json` prints it. */
export function factsOf({ name, state, message, fix }: Finding): Finding {
  return { name, state, message, ...(fix !== undefined && { fix }) }
}

/** 4 when the server cannot be reached, 3 when nothing but a sign-in is missing, 1 for anything else that failed. */
export function exitCodeOf(findings: readonly Finding[]): ExitCode {
  const failed = findings.filter(({ state }) => state === 'fail')
  if (failed.length === 0) return exitCode.ok
  if (failed.some(({ exit }) => exit === exitCode.unreachable)) return exitCode.unreachable
  return failed.every(({ exit }) => exit === exitCode.signInNeeded) ? exitCode.signInNeeded : exitCode.failed
}
