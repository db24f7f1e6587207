import type { Colour, Terminal } from '../../terminal/output.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CheckName, Finding, FindingState } from './finding.ts'

const colours: Readonly<Record<FindingState, Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' }
const nameWidth = 20

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

const wayThere: ReadonlySet<CheckName> = new Set(['proxy', 'dns', 'connection', 'tls', 'endpoint'])
const ownLogin: ReadonlySet<CheckName> = new Set(['login', 'session'])

/** 4 when the server cannot be reached, 3 when nothing but a sign-in is missing, 1 for anything else that failed. */
export function exitCodeOf(findings: readonly Finding[]): ExitCode {
  const failed = findings.filter(({ state }) => state === 'fail').map(({ name }) => name)
  if (failed.length === 0) return exitCode.ok
  if (failed.some((name) => wayThere.has(name))) return exitCode.unreachable
  return failed.every((name) => ownLogin.has(name)) ? exitCode.signInNeeded : exitCode.failed
}
