import type { Colour, Terminal } from '../terminal.ts'
import type { Finding, FindingState } from './finding.ts'

const colours: Readonly<Record<FindingState, Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' }
const nameWidth = 17

/** A finding as lines for people: state, name and message, and below it what to do. */
export function findingText(
  { state, name, message, fix }: Finding,
  { colour }: Pick<Terminal, 'colour'>,
): string {
  const line = `${colour(colours[state], state.padEnd(4))}  ${name.padEnd(nameWidth)}  ${message}`
  return fix === undefined ? line : `${line}\n${' '.repeat(6 + nameWidth)}  -> ${fix}`
}

/** How many there are of each kind, and what to do next. */
export function summary(findings: readonly Finding[]): string {
  const count = (state: FindingState): number => findings.filter((finding) => finding.state === state).length
  const [failed, warnings] = [count('fail'), count('warn')]
  const counted = `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${failed} failed.`
  if (failed > 0) return `${counted} Repair what failed, from the top, and run doctor again.`
  return warnings > 0 ? `${counted} Nothing is broken; read the warnings once.` : counted
}
