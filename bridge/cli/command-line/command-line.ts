import { Command, CommanderError, Option } from 'commander'
import { nearestName } from '@drawbridge/shared/nearest-name.ts'
import { createBridgeConfig, readSettings, type Surroundings } from '../../config/config-reader.ts'
import { ConfigError } from '../../config/config.ts'
import { type CommandLine, FlagReader } from '../../config/setting-argument.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import { version } from '../../config/version.ts'
import { type CommandInput, commandName, type CommandRow } from '../command.ts'
import { connect } from '../connect/connect.ts'
import { type ExitCode, exitCode } from '../failure/command-failure.ts'
import { describeError, type Failure, failureJson, failureText } from '../failure/failure-text.ts'
import { protocolStreams, say, systemTerminal, type Terminal } from '../terminal/output.ts'
import { asTyped } from '../terminal/program-name.ts'
import { commandTable } from './command-table.ts'
import { describeCommand, describeProgram, shortHelp } from './command-help.ts'

/** Runs a command line and returns its exit code. Without a command it is a connection. */
export async function runCommandLine(
  words: readonly string[],
  surroundings: Surroundings,
  terminal?: Terminal,
): Promise<number> {
  // A connection opens none: its stdout belongs to a client.
  const terminalOf = (): Terminal => (terminal ??= systemTerminal())
  if (words.length === 0) {
    terminalOf().note(shortHelp().trimEnd())
    return exitCode.usage
  }
  let code: number = exitCode.ok
  const flags = new FlagReader()
  const program = createProgram(words, flags, {
    print: (text) => terminalOf().print(asTyped(text.replace(/\n$/, ''))),
    async connect(command) {
      code = await connectLine(flags.lineOf(command), surroundings, terminal?.note ?? say)
    },
    async run(row, command) {
      code = await runCommand(row, command, {
        line: flags.lineOf(command),
        surroundings,
        terminal: terminalOf(),
      })
    },
  })
  try {
    await program.parseAsync([...words], { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return exitCode.ok
    const name = words.find((word) => commandTable.some((row) => commandName(row) === word)) ?? ''
    terminalOf().note(failureText(name, describeFailure(missingValue(error), name, undefined)))
    return exitCode.usage
  }
}

/** Describes the only fault at which commander stops: the last flag lacks its value. */
function missingValue({ message }: CommanderError): ConfigError {
  const [, flags = ''] = /'(.+)'/.exec(message) ?? []
  return new ConfigError([`${flags.replace(/ .*/, '')}: a value is missing, as in ${flags}.`])
}

interface LineRunner {
  print(text: string): void
  connect(command: Command): Promise<void>
  run(row: CommandRow, command: Command): Promise<void>
}

/** Creates the program for one line. Only the commands in it get the flags of settings, which take long to add. */
export function createProgram(words: readonly string[], flags: FlagReader, runner: LineRunner): Command {
  const prepare = (command: Command): Command =>
    command
      .exitOverride()
      .enablePositionalOptions()
      .allowUnknownOption()
      .allowExcessArguments()
      .configureOutput({ writeOut: (text) => runner.print(text), outputError() {} })
  const program = prepare(new Command('drawbridge')).version(version, '-V, --version', 'Print the version.')
  flags.addFlags(program, true)
  describeProgram(program)
  program.action(() => runner.connect(program))
  for (const row of commandTable) {
    const [first = '', second] = commandName(row).split(' ')
    const parent = program.commands.find((known) => known.name() === first) ?? program
    const command = prepare(parent.command(second ?? first))
    describeCommand(command, row)
    if (words.includes(first)) flags.addFlags(command, false)
    command.action(() => runner.run(row, command))
  }
  return program
}

async function connectLine(
  line: CommandLine,
  surroundings: Surroundings,
  tell: (text: string) => void,
): Promise<number> {
  const { environment, platform } = surroundings
  const [serverUrl = ''] = line.operands
  try {
    if (/^[a-z][a-z-]*$/i.test(serverUrl)) throw unknownCommand(serverUrl)
    const read = readSettings(line, surroundings)
    const config = createBridgeConfig(read, surroundings)
    for (const warning of read.warnings) tell(warning)
    return await connect(config, {
      streams: protocolStreams(),
      runtime: systemRuntime,
      environment,
      platform,
    })
  } catch (error) {
    const failure = describeError(error, { serverUrl })
    tell(failureText('', failure))
    return failure.exit === exitCode.usage ? exitCode.usage : exitCode.failed
  }
}

function unknownCommand(word: string): ConfigError {
  const meant = nearestName(word, commandTable.map(commandName))
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`
  return new ConfigError(
    [`${word}: there is no such command.${question}`],
    asTyped('Every command: drawbridge --help'),
  )
}

async function runCommand(
  row: CommandRow,
  command: Command,
  given: Pick<CommandInput, 'line' | 'surroundings' | 'terminal'>,
): Promise<ExitCode> {
  const value = (flag: string): unknown => command.getOptionValue(new Option(flag).attributeName())
  const json = value('--json') === true
  const { line, terminal } = given
  try {
    return await row.run(
      { ...given, json, runtime: systemRuntime },
      {
        isOn: (name) => value(name) === true,
        valueOf(name) {
          const text = value(name)
          return typeof text === 'string' ? text : undefined
        },
      },
    )
  } catch (error) {
    const url = line.operands.find((word) => word.includes('://'))
    const failure = describeFailure(error, commandName(row), url)
    terminal.note(failureText(commandName(row), failure))
    if (json) terminal.print(failureJson(failure))
    return failure.exit
  }
}

/** As {@link describeError}; a wrong line is to be compared with the help of its command. */
function describeFailure(error: unknown, command: string, serverUrl: string | undefined): Failure {
  const failure = describeError(error, { serverUrl })
  if (!(error instanceof ConfigError)) return failure
  const help = asTyped(`Every flag: drawbridge ${command === '' ? '' : `${command} `}--help`)
  return { ...failure, nextStep: error.nextStep ?? help }
}
