import { Command, CommanderError } from 'commander'
import type { Surroundings } from '../../config/config-reader.ts'
import { ConfigError } from '../../config/config.ts'
import { parseArguments } from '../../config/setting-argument.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import { systemTerminal, type Terminal } from '../terminal/output.ts'
import { version } from '../../config/version.ts'
import { type CommandInput, commandName, type CommandRow, ownFlags } from '../command.ts'
import { commandHelp, programHelp, shortHelp } from './command-help.ts'
import { commandTable } from './command-table.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { describeError, failureJson, failureText } from '../failure/failure-text.ts'
import { asTyped } from '../terminal/program-name.ts'

/**
 * Runs a command line that is no connection: a command, or a question for help or the version. The words behind a command
 * are read like those of a connection, so that one line of flags means the same everywhere. Answers the exit code.
 */
export async function runCommandLine(
  words: readonly string[],
  surroundings: Surroundings,
  terminal: Terminal = systemTerminal(),
): Promise<ExitCode> {
  if (words.length === 0) {
    // There is nothing to connect to, and stdout may belong to a client.
    terminal.note(shortHelp().trimEnd())
    return exitCode.usage
  }
  let code: ExitCode = exitCode.ok
  const program = createProgram(terminal, async (row, rest) => {
    code = await runCommand(row, rest, surroundings, terminal)
  })
  try {
    await program.parseAsync(questionFirst(words), { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? exitCode.ok : exitCode.usage
  }
}

/** `drawbridge <url> --help` asks about the program: the words of a connection would only be in the way. */
function questionFirst(words: readonly string[]): readonly string[] {
  if (/^[a-z][a-z-]*$/i.test(words[0] ?? '')) return words
  return words.some((word) => word === '--version' || word === '-V') ? ['--version'] : ['--help']
}

function createProgram(
  terminal: Terminal,
  run: (row: CommandRow, rest: readonly string[]) => Promise<void>,
): Command {
  const program = quiet(new Command('drawbridge'), terminal, programHelp).version(version, '-V, --version')
  const made = new Map<string, Command>()
  for (const row of commandTable) {
    const words = commandName(row).split(' ')
    const parent = words.length > 1 ? (made.get(words[0] ?? '') ?? program) : program
    const command = quiet(parent.command(words.at(-1) ?? ''), terminal, () => commandHelp(row))
      .argument('[words...]')
      .allowUnknownOption()
      .passThroughOptions()
      .action((rest: readonly string[]) => run(row, rest))
    made.set(commandName(row), command)
  }
  return program
}

function quiet(command: Command, terminal: Terminal, help: () => string): Command {
  // It is called with options of its own.
  command.helpInformation = () => help()
  return command
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .showHelpAfterError(asTyped('Every command: drawbridge --help'))
}

async function runCommand(
  row: CommandRow,
  words: readonly string[],
  surroundings: Surroundings,
  terminal: Terminal,
): Promise<ExitCode> {
  const line = parseArguments(words, ['--help', '-h', ...ownFlags(row)])
  if (line.switches.has('--help') || line.switches.has('-h')) {
    terminal.print(commandHelp(row))
    return exitCode.ok
  }
  const json = line.switches.has('--json')
  const input: CommandInput = { line, surroundings, json, runtime: systemRuntime, terminal }
  try {
    return await row.run(input, {
      isOn: (name) => line.switches.has(name),
      valueOf: (name) => line.values.get(name),
    })
  } catch (error) {
    const failure = describeError(error, { serverUrl: line.operands.find((word) => word.includes('://')) })
    const nextStep =
      error instanceof ConfigError
        ? (error.nextStep ?? asTyped(`Every flag: drawbridge ${commandName(row)} --help`))
        : failure.nextStep
    terminal.note(failureText(commandName(row), { ...failure, nextStep }))
    if (json) terminal.print(failureJson({ ...failure, nextStep }))
    return failure.exit
  }
}
