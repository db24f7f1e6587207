/** Exit codes, stable for scripts. A connection ends with one of the first three. */
export const exitCode = { ok: 0, failed: 1, usage: 2, signInNeeded: 3, unreachable: 4 } as const

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** A failed command, with the user's next step. Contains no secrets. */
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
