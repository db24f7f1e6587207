import type { Colour, Terminal } from '../terminal.ts'

/** What a check came to: fine, worth knowing, or broken. */
type FindingState = 'ok' | 'warn' | 'fail'

/** One line of `doctor`. Nothing secret is in it. */
export interface Finding {
  /** Stable, for scripts. */
  name: string
  state: FindingState
  message: string
  /** What to do about it. */
  fix?: string
}

/** All is well. */
export function ok(name: string, message: string): Finding {
  return { name, state: 'ok', message }
}

/** It works, or may work, and somebody should know. */
export function warn(name: string, message: string, fix?: string): Finding {
  return { name, state: 'warn', message, ...(fix !== undefined && { fix }) }
}

/** Something does not work; every such finding says what to do. */
export function fail(name: string, message: string, fix: string): Finding {
  return { name, state: 'fail', message, fix }
}

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
