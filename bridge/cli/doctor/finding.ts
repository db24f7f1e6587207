import * as check from '@drawbridge/shared/terminal/check.ts'
import type * as shared from '@drawbridge/shared/terminal/finding.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { asTyped } from '../terminal/program-name.ts'
import { type FailureContext, describeError } from '../failure/failure-text.ts'

/** The checks, in the order in which they run. Stable, for scripts. */
export type CheckName =
  | 'node'
  | 'configuration'
  | 'command_line'
  | 'proxy'
  | 'endpoint'
  | 'clock'
  | 'authorization_server'
  | 'resource'
  | 'sign_in_page'
  | 'keychain'
  | 'login'
  | 'lock'
  | 'session'

/** One line of `doctor`. */
export interface Finding extends shared.Finding<CheckName> {
  /** The exit code that a failure stands for. Not printed. */
  exit?: ExitCode
}

/** Creates the finding of a passed check. */
export function ok(name: CheckName, message: string): Finding {
  return { name, ...check.ok(message) }
}

/** Creates a finding about something that works, or may work, but needs attention. */
export function warn(name: CheckName, message: string, fix?: string): Finding {
  return { name, ...check.warn(message, fix === undefined ? undefined : asTyped(fix)) }
}

/** Creates the finding of a failed check, always with a next step. */
export function fail(
  name: CheckName,
  message: string,
  fix: string,
  exit: ExitCode = exitCode.failed,
): Finding {
  return { name, ...check.fail(message, asTyped(fix)), exit }
}

/** Creates the finding of an error, with the next step and exit code of its failure. */
export function failureFinding(name: CheckName, error: unknown, context: FailureContext): Finding {
  const { sentences, nextStep, exit } = describeError(error, context)
  return fail(name, sentences.join(' '), withoutDoctor(nextStep), exit)
}

/** Removes the advice to run this command, unless it is the only one. */
function withoutDoctor(nextStep: string): string {
  return nextStep.replace(/(?<=[.;]) [^.;]*: drawbridge doctor .*$/, '')
}

/** Returns a finding as `--json` prints it. */
export function factsOf({ name, state, message, fix }: Finding): Finding {
  return { name, state, message, ...(fix !== undefined && { fix }) }
}

/** Returns 4 if the server cannot be reached, 3 if only a sign-in is missing, 1 if anything else failed. */
export function exitCodeOf(findings: readonly Finding[]): ExitCode {
  const failed = findings.filter(({ state }) => state === 'fail')
  if (failed.length === 0) return exitCode.ok
  if (failed.some(({ exit }) => exit === exitCode.unreachable)) return exitCode.unreachable
  return failed.every(({ exit }) => exit === exitCode.signInNeeded) ? exitCode.signInNeeded : exitCode.failed
}
