import { createProgram } from '../../../../bridge/cli/command-line/command-line.ts'
import { type CommandLine, FlagReader } from '../../../../bridge/config/setting-argument.ts'

/** Parses the words of a connection as the bridge does; `own` lists additional flags of a command. */
export function readWords(words: readonly string[], own: readonly string[] = []): CommandLine {
  const reader = new FlagReader()
  const program = createProgram([], reader, { print() {}, run: async () => {} })
  for (const flags of own) program.option(flags)
  program.parse([...words], { from: 'user' })
  return reader.lineOf(program)
}
