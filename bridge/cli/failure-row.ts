import type { ExitCode } from './exit-code.ts'

/** What is said about one kind of failure. */
export interface FailureRow {
  /** What such a failure means, for the documentation. What happened this time is in the message of the error. */
  meaning: string
  /** What to do: a command, or a thing. `{url}` is the URL of the server as it is typed. */
  nextStep: string
  exit: ExitCode
}
