import { fail, type Outcome } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { type FailureContext, describeError } from '../failure/failure-text.ts'

/** Creates the outcome of an error, with the next step and exit code of its failure. */
export function failed(error: unknown, context: FailureContext): Outcome {
  const { sentences, nextStep, exit } = describeError(error, context)
  // Drop the advice to run doctor unless it is the only one.
  const fix = nextStep.replace(/(?<=[.;]) [^.;]*: drawbridge doctor .*$/, '')
  return fail(sentences.join(' '), fix, exit)
}

/** Returns 4 if the server cannot be reached, 3 if only a sign-in is missing, 1 if anything else failed. */
export function exitCodeOf(findings: readonly Finding[]): ExitCode {
  const failed = findings.filter(({ state }) => state === 'fail')
  if (failed.length === 0) return exitCode.ok
  if (failed.some(({ exit }) => exit === exitCode.unreachable)) return exitCode.unreachable
  return failed.every(({ exit }) => exit === exitCode.signInNeeded) ? exitCode.signInNeeded : exitCode.failed
}
