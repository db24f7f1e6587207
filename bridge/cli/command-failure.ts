import { type ExitCode, exitCode } from './exit-code.ts'

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
