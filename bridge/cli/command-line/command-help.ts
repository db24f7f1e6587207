import type { Command, Help, Option } from 'commander'
import { settings } from '../../config/setting-table.ts'
import { flagOf, type SettingGroup, variableOf } from '../../config/setting.ts'
import { terminalColumns } from '../terminal/output.ts'
import { definitionList, lineWidth, paragraph } from '@drawbridge/shared/terminal/table.ts'
import { commandName, type CommandRow } from '../command.ts'
import { commandTable } from './command-table.ts'
import { asTyped } from '../terminal/program-name.ts'

const examples: readonly (readonly [line: string, what: string])[] = [
  ['drawbridge https://mcp.example.com/mcp', 'what a client starts'],
  ['drawbridge login https://mcp.example.com/mcp', 'sign in before any client asks'],
  ["drawbridge https://mcp.example.com/mcp --header 'X-Team: ${TEAM}'", 'with a header, of a variable'],
  ["drawbridge https://mcp.example.com/mcp --ignore-tool 'delete_*'", 'without some tools'],
  ['drawbridge doctor https://mcp.example.com/mcp', 'what is wrong, and what to do about it'],
]

const firstSteps: readonly (readonly [line: string, what: string])[] = [
  ...examples.slice(0, 2),
  ['drawbridge install cursor https://mcp.example.com/mcp', 'add it to a client'],
  ['drawbridge doctor https://mcp.example.com/mcp', 'what is wrong, and what to do about it'],
]

const everyFlag =
  'Every flag has a variable: --allow-tool is DRAWBRIDGE_ALLOW_TOOL; a key of ~/.drawbridge/config.json is a flag without its dashes, at the top or below servers and the URL. --no- in front of a switch, as in --no-debug, turns off what a variable or the file turns on. Durations are seconds, or 500ms, 20s, 5m.'

const exitCodes = 'Exit codes: 0 ok, 1 failed, 2 usage, 3 sign-in needed, 4 server unreachable.'

const terminalWidth = (): number => lineWidth(terminalColumns())
const widthOf = (command: Command): number => command.configureOutput().getOutHelpWidth?.() ?? terminalWidth()

/** Lays help out: names in a column, texts folded beside it. */
function layOut(command: Command): Command {
  return command
    .configureOutput({ getOutHelpWidth: terminalWidth })
    .helpOption('-h, --help', 'Print this; behind a command, the help of that one.')
    .configureHelp({
      optionTerm,
      subcommandTerm,
      visibleCommands: ({ commands }) => commands.flatMap((sub) => [sub, ...sub.commands]),
      formatItem: (term, termWidth, text, help: Help) =>
        definitionList([[term.padEnd(termWidth), text]], help.helpWidth).replaceAll(/ +$/gm, ''),
    })
}

function subcommandTerm(command: Command): string {
  const { parent } = command
  const name = parent?.parent ? `${parent.name()} ${command.name()}` : command.name()
  return `${name} ${command.usage()}`.replace(/ \[flags\]$/, '')
}

function optionTerm({ long, flags }: Option): string {
  const setting = settings.find((row) => flagOf(row) === long)
  if (setting?.secret) return variableOf(setting)
  return setting?.negative === undefined ? flags : `${flags}, ${setting.negative}`
}

/** Adds the program's help: examples, commands, flags. */
export function describeProgram(program: Command): void {
  layOut(program)
    .usage(
      '<url> [port] [flags], to carry an MCP client on stdin and stdout; or drawbridge <command> [flags]',
    )
    .addHelpText('before', () => `Examples:\n${definitionList(typed(examples), widthOf(program))}\n\n`)
    .addHelpText('after', () =>
      ['', paragraph(everyFlag, widthOf(program)), '', paragraph(exitCodes, widthOf(program))].join('\n'),
    )
}

/** Adds a command's own flags and its help, which only names the flags of settings. */
export function describeCommand(command: Command, row: CommandRow): void {
  const name = commandName(row)
  layOut(command)
    .usage(`${row.usage.slice(name.length).trim()} [flags]`.trim())
    .description(row.description)
    .helpGroup(`${row.group}:`)
    .addHelpText('before', `Examples:\n${row.examples.map((line) => exampleLine(line, name)).join('\n')}\n\n`)
    .addHelpText('after', () => afterHelp(row, widthOf(command)))
  for (const [flags, text] of Object.entries(row.switches ?? {})) command.option(flags, text)
  if (row.json !== undefined) command.option('--json', 'print the facts as one JSON object on stdout')
}

function exampleLine(example: string, name: string): string {
  return example.startsWith(name) ? `  drawbridge ${example}` : `  ${example}`
}

function afterHelp({ shown, json }: CommandRow, width: number): string {
  const taken = shown.map((group) => `${group} (${flagsOf(group).join(' ')})`).join('; ')
  const parts = [
    ...(taken === '' ? [] : [`It takes these settings as well: ${taken}. What each does: drawbridge --help`]),
    exitCodes,
  ].map((text) => paragraph(text, width))
  if (json !== undefined) parts.splice(-1, 0, `JSON:\n${definitionList(Object.entries(json), width)}`)
  return `\n${parts.join('\n\n')}`
}

/** Returns the help for the name alone: the first steps, and where the rest is. */
export function shortHelp(width: number = terminalWidth()): string {
  return `${[
    paragraph(
      'Carries an MCP client that only starts programs to a remote MCP server, and signs in to it.',
      width,
    ),
    definitionList(typed(firstSteps), width),
    paragraph(`Commands: ${commandTable.map(commandName).join(', ')}.`, width),
    paragraph(asTyped('Every command and flag: drawbridge --help'), width),
  ].join('\n\n')}\n`
}

function typed(rows: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return rows.map(([line, what]) => [asTyped(line), what] as const)
}

function flagsOf(group: SettingGroup): string[] {
  return settings.flatMap((setting) => (setting.group === group && !setting.secret ? flagOf(setting) : []))
}
