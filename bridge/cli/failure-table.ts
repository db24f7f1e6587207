import { exitCode } from './exit-code.ts'
import type { FailureRow } from './failure-row.ts'
import { bodyFailures, networkFailures, remoteFailures } from './failure-table-network.ts'
import { credentialFailures, oauthFailures } from './failure-table-sign-in.ts'

/** Stable name of a kind of failure: in `--json`, in the `data` of a JSON-RPC error, and in the documentation. */
export type FailureCode =
  | 'configuration'
  | 'unexpected'
  | keyof typeof bodyFailures
  | keyof typeof credentialFailures
  | keyof typeof networkFailures
  | keyof typeof oauthFailures
  | keyof typeof remoteFailures

/** Every failure that a person can meet, with its next step. A new fault without a row is a compile error. */
export const failureTable: Readonly<Record<FailureCode, FailureRow>> = {
  configuration: {
    meaning: 'What was given on the command line, in variables or in the configuration file is wrong.',
    nextStep: 'Every flag: drawbridge --help',
    exit: exitCode.usage,
  },
  unexpected: {
    meaning: 'Something happened that nobody has thought of.',
    nextStep: 'Try again; when it stays so, report this line with what --version says.',
    exit: exitCode.failed,
  },
  ...networkFailures,
  ...remoteFailures,
  ...bodyFailures,
  ...oauthFailures,
  ...credentialFailures,
}
