import { serve } from './serve-process.ts'
import { type CommandInput, type ExitCode, exitCode, checkInput } from './command.ts'

/** Serves until SIGINT or SIGTERM. */
export async function serveUntilStopped(input: CommandInput): Promise<ExitCode> {
  await serve(checkInput(input), { json: input.json })
  return exitCode.ok
}
