import { serve } from '../serve.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from './command.ts'

/** Serves until SIGINT or SIGTERM. */
export async function serveUntilStopped(input: CommandInput): Promise<ExitCode> {
  await serve(readConfig(input), { json: input.json })
  return exitCode.ok
}
