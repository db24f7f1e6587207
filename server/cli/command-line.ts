import { Command, CommanderError, Option } from 'commander'
import {
  type CommandInput,
  type CommandOptions,
  type CommandRow,
  type ExitCode,
  exitCode,
  failureJson,
  failureText,
} from './command.ts'
import { commandGroups, ownCommands, readCommandTable } from './command-table.ts'
import { OperatorRefusal } from '../core/operator/operation.ts'
import { asTyped } from '../startup/program-name.ts'
import { systemTerminal } from './terminal.ts'
import { flagOf } from '@drawbridge/shared/settings/setting.ts'
import { settings } from '../config/setting-table.ts'
import { loadEnvFile } from '../config/env-file.ts'
import { systemRuntime } from '../startup/system-runtime.ts'
import { version } from '../config/version.ts'

const program = 'drawbridge-server'

const examples = `Examples:
  ${program}                                 try it: embedded provider, demo web app, SQLite in .drawbridge/
  ${program} init                            set it up for your web app, in this folder
  ${program} --tools ./my-tools.mjs          with your own tools
  ${program} --upstream http://127.0.0.1:9000/mcp   in front of an MCP server
  ${program} -- npx -y some-mcp-server       the same for a command that speaks stdio
  ${program} --env-file drawbridge.env       with the settings in a file
  ${program} doctor                          find what is wrong, and how to fix it
  ${program} keys rotate                     switch to a new key while the server runs

Every flag: ${program} serve --help. Each has a variable: --base-url is DRAWBRIDGE_BASE_URL.
Every command reads variables from a file, too: --env-file drawbridge.env
Exit codes: 0 ok, 1 failed, 2 usage.`

/** Runs one command line and returns its exit code. Adds the variables of `--env-file` to `environment`. */
export async function run(
  argv: readonly string[],
  environment: Record<string, string | undefined>,
): Promise<number> {
  let code: ExitCode = exitCode.ok
  const { words, upstreamCommand } = splitCommand(argv)
  const given = withDefaultCommand(words)
  // Serving does not wait for the code of the other commands.
  const rows = given[0] === 'serve' ? ownCommands : await readCommandTable()
  const commandLine = createCommandLine(rows, given, async (row, operands, options) => {
    code = await runCommand(row, operands, options, { environment, upstreamCommand })
  })
  try {
    await commandLine.parseAsync(given, { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? exitCode.ok : exitCode.usage
  }
}

function splitCommand(argv: readonly string[]): {
  words: readonly string[]
  upstreamCommand: readonly string[] | undefined
} {
  const at = argv.indexOf('--')
  return at === -1
    ? { words: argv, upstreamCommand: undefined }
    : { words: argv.slice(0, at), upstreamCommand: argv.slice(at + 1) }
}

/**
 * Adds the default command, `serve`. As the library's own default it would swallow a misspelt command. `--env-file`, the one flag
 * of all commands, may stand before the command.
 */
function withDefaultCommand(argv: readonly string[]): readonly string[] {
  const [first, second] = argv
  const leading = first?.startsWith('--env-file=')
    ? 1
    : first === '--env-file' && second !== undefined
      ? 2
      : 0
  if (leading > 0) return [...withDefaultCommand(argv.slice(leading)), ...argv.slice(0, leading)]
  const isOfProgram = ['-h', '--help', '-V', '--version'].includes(first ?? '')
  return first === undefined || (first.startsWith('-') && !isOfProgram) ? ['serve', ...argv] : argv
}

/** Creates the command line for `words`. Adds settings only to the commands in them: doing so for all takes a tenth of a server's start. */
function createCommandLine(
  rows: readonly CommandRow[],
  words: readonly string[],
  start: (row: CommandRow, operands: readonly string[], options: CommandOptions) => Promise<void>,
): Command {
  const root = new Command(program)
    .description('OAuth 2.1 authorization server and MCP endpoint in front of a session provider.')
    .version(version)
    .usage('[command] [options]')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void process.stdout.write(asTyped(text)),
      writeErr: (text) => void process.stderr.write(asTyped(text)),
    })
    .showHelpAfterError(`Run ${program} --help for every command and flag.`)
    .addHelpText('after', `\n${examples}`)
  const groups = new Map<string, Command>()
  for (const row of rows) {
    const [first = '', ...rest] = row.usage.split(' ')
    const about = commandGroups[first]
    const group = about === undefined ? root : (groups.get(first) ?? root.command(first).description(about))
    groups.set(first, group)
    const command = group.command(group === root ? row.usage : rest.join(' '))
    describeCommand(command, row)
    if (words.includes(first)) addSettings(command, row)
    command.action((...given: unknown[]) => start(row, given.slice(0, -2).flat() as string[], command.opts()))
  }
  return root
}

function describeCommand(command: Command, row: CommandRow): void {
  const { json = 'print the facts as one JSON object on stdout' } = row
  command.description(row.description).option('--json', json)
  command.option('--env-file <file>', 'variables for this command, as NAME=value lines; the environment wins')
  for (const [flags, text] of Object.entries(row.switches ?? {})) command.option(flags, text)
  const lines = row.examples.map((example) => `  ${program} ${example}`.trimEnd())
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

/** Returns the settings that have a flag at a command: not those whose name is a flag of the command itself. */
function settingsOf({ switches = {} }: CommandRow): typeof settings {
  const own = new Set(Object.keys(switches).map((flags) => flags.split(' ', 1)[0]))
  return settings.filter((setting) => !own.has(flagOf(setting)))
}

function addSettings(command: Command, row: CommandRow): void {
  for (const setting of settingsOf(row).filter(({ secret }) => !secret)) {
    const option = new Option(
      `${flagOf(setting)} <value>`,
      `${setting.doc} (default: ${setting.defaultText})`,
    )
    command.addOption(option.hideHelp(row.shown !== undefined && !row.shown.includes(setting.field)))
  }
}

/** Runs a command. Prints a failure with its next step, and returns its exit code. */
async function runCommand(
  row: CommandRow,
  operands: readonly string[],
  options: CommandOptions,
  {
    environment,
    upstreamCommand,
  }: { environment: Record<string, string | undefined> } & Pick<CommandInput, 'upstreamCommand'>,
): Promise<ExitCode> {
  const json = options.json === true
  const name = row.usage.replace(/ [<[].*/, '')
  try {
    if (upstreamCommand && name !== 'serve') {
      throw new OperatorRefusal(
        400,
        'Only serve takes a command behind --.',
        `Leave it out, or run: ${program} -- COMMAND`,
      )
    }
    const flags = options as Partial<Record<string, string>>
    const { envFile } = flags
    const places = envFile === undefined ? new Map<string, string>() : loadEnvFile(envFile, environment)
    const input: CommandInput = {
      flags: Object.fromEntries(settingsOf(row).map(({ field }) => [field, flags[field]])),
      environment,
      places,
      upstreamCommand,
      json,
      runtime: systemRuntime,
      terminal: systemTerminal,
    }
    return await row.run(input, operands, options)
  } catch (error) {
    const { text, code } = failureText(name, error)
    systemTerminal.note(text)
    if (json && name !== 'serve') systemTerminal.print(failureJson(error))
    return code
  }
}
