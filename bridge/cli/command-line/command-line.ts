import { Command, CommanderError } from 'commander'
import { nearestName } from '@drawbridge/shared/nearest-name.ts'
import { createBridgeConfig, readSettings, type Surroundings } from '../../config/config-reader.ts'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { FlagReader } from '../../config/setting-argument.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import { version } from '../../config/version.ts'
import { type CommandInput, type CommandOptions, commandName, type CommandRow } from '../command.ts'
import { connect } from '../connect/connect.ts'
import { exitCode } from '../failure/failure-table.ts'
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
    async run(row, command) {
      const line = flags.lineOf(command)
      if (row === undefined) {
        code = await runConnection({ line, surroundings }, terminal?.note ?? say)
        return
      }
      const options = command.opts<CommandOptions & { json?: true }>()
      const json = options.json === true
      const runtime = systemRuntime
      code = await runCommand(row, { line, surroundings, json, options, runtime, terminal: terminalOf() })
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

/**
 * Creates the program for one line. Only the commands in it get the flags of settings, which take long to add. `run` gets the row of the
 * command, or none for a connection.
 *
 * @internal
 */
export function createProgram(
  words: readonly string[],
  flags: FlagReader,
  runner: { print(text: string): void; run(row: CommandRow | undefined, command: Command): Promise<void> },
): Command {
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
  program.action(() => runner.run(undefined, program))
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

async function runConnection(
  { line, surroundings }: Pick<CommandInput, 'line' | 'surroundings'>,
  tell: (text: string) => void,
): Promise<number> {
  const { environment, platform } = surroundings
  const [serverUrl = ''] = line.operands
  try {
    if (/^[a-z][a-z-]*$/i.test(serverUrl)) throw unknownCommand(serverUrl)
    const read = readSettings(line, surroundings)
    const config = createBridgeConfig(read, surroundings)
    for (const warning of read.warnings) tell(warning)
    const ports = { streams: protocolStreams(), runtime: systemRuntime, environment, platform }
    return await connect(config, ports)
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
    [`Unknown command: ${word}.${question}`],
    asTyped('Every command: drawbridge --help'),
  )
}

async function runCommand(row: CommandRow, input: CommandInput): Promise<number> {
  const { line, terminal, json } = input
  try {
    return await row.run(input)
  } catch (error) {
    const url = line.operands.find((word) => word.includes('://'))
    const failure = describeFailure(error, commandName(row), url)
    terminal.note(failureText(commandName(row), failure))
    if (json) terminal.print(failureJson(failure))
    return failure.exit
  }
}

/** As {@link describeError}; a wrong command line without another next step points to the help of its command. */
function describeFailure(error: unknown, command: string, serverUrl: string | undefined): Failure {
  const failure = describeError(error, { serverUrl })
  if (!(error instanceof ConfigError) || error.nextStep !== undefined) return failure
  const help = asTyped(`Every flag: drawbridge ${command === '' ? '' : `${command} `}--help`)
  return { ...failure, nextStep: help }
}
