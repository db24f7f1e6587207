import { describeError, type FailureContext } from '../failure-text.ts'
import { type CheckName, type Finding, fail } from './finding.ts'

/** Any error as what a check came to, with what it means for the exit code. */
export function failureFinding(name: CheckName, error: unknown, context: FailureContext): Finding {
  const { sentences, nextStep, exit } = describeError(error, context)
  return fail(name, sentences.join(' '), withoutDoctor(nextStep), exit)
}

/** A next step without the advice to run the command that runs, unless it is the only one. */
function withoutDoctor(nextStep: string): string {
  return nextStep.replace(/(?<=[.;]) [^.;]*: drawbridge doctor .*$/, '')
}
