/** Exit codes are stable, so that scripts can tell them apart. In front of a client only the first three come up. */
export const exitCode = { ok: 0, failed: 1, usage: 2, signInNeeded: 3, unreachable: 4 } as const

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** Why a command did not do what it is for, and what to do about it. Nothing secret is in either. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly nextStep: string
  readonly exit: ExitCode

  constructor(message: string, nextStep: string, options: { exit?: ExitCode; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.nextStep = nextStep
    this.exit = options.exit ?? exitCode.failed
  }
}

/** What is said about one kind of failure. */
export interface FailureRow {
  /** What such a failure means, for the documentation. What happened this time is in the message of the error. */
  meaning: string
  /** What to do: a command, or a thing. `{url}` is the URL of the server as it is typed. */
  nextStep: string
  exit: ExitCode
}
