import { InstallError, type InstallFault } from '../install/install-error.ts'
import type { Terminal } from './terminal/output.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCode } from './exit-code.ts'

const wrongCommandLine: ReadonlySet<InstallFault> = new Set(['usage', 'secret'])

/** Does the work of a command; of what fails, what can be pasted by hand is shown. */
export async function withInstallFailure<T>(terminal: Terminal, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof InstallError)) throw error
    if (error.snippet !== undefined) terminal.note(`To paste by hand:\n\n${error.snippet}\n`)
    throw new CommandFailure(error.message, error.nextStep, {
      exit: wrongCommandLine.has(error.fault) ? exitCode.usage : exitCode.failed,
      cause: error,
    })
  }
}
