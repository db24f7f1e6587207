import { settings } from '../../config/setting-table.ts'
import { flagOf, type Setting, type SettingGroup, variableOf } from '../../config/setting.ts'
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

const groups: readonly SettingGroup[] = ['Server', 'Signing in', 'Network', 'Storage', 'Output']

/** Help of the program: what a connection takes, and the commands. */
export function programHelp(width: number = terminalWidth()): string {
  const commandGroups = [...new Set(commandTable.map(({ group }) => group))]
  return `${[
    `Examples:\n${definitionList(typed(examples), width)}`,
    `Usage:\n${definitionList(typed(usages), width)}`,
    ...commandGroups.map((group) => `${group}:\n${definitionList(commandRows(group), width)}`),
    ...groups.map((group) => settingHelp(group, width)),
    `Help:\n${definitionList(helpRows, width)}`,
    paragraph(everyFlag, width),
    paragraph(exitCodes, width),
  ].join('\n\n')}\n`
}

/** What stands where somebody typed the name alone: how to begin, and where the rest is. */
export function shortHelp(width: number = terminalWidth()): string {
  const names = commandTable.map((row) => commandName(row)).join(', ')
  return `${[
    paragraph(
      'Carries an MCP client that only starts programs to a remote MCP server, and signs in to it.',
      width,
    ),
    definitionList(typed(examples.slice(0, 2)), width),
    definitionList(typed(firstSteps), width),
    paragraph(`Commands: ${names}.`, width),
    paragraph(asTyped('Every command and flag: drawbridge --help'), width),
  ].join('\n\n')}\n`
}

const firstSteps: readonly (readonly [string, string])[] = [
  ['drawbridge install cursor https://mcp.example.com/mcp', 'add it to a client'],
  ['drawbridge doctor https://mcp.example.com/mcp', 'what is wrong, and what to do about it'],
]

/** As they can be typed here. */
function typed(rows: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return rows.map(([line, what]) => [asTyped(line), what] as const)
}

const usages: readonly (readonly [string, string])[] = [
  ['drawbridge <url> [port] [flags]', 'carry an MCP client on stdin and stdout to the server at <url>'],
  ['drawbridge <command> [flags]', 'one of the commands below'],
]

const helpRows: readonly (readonly [string, string])[] = [
  ['-h, --help', 'Print this; behind a command, the help of that one, with examples.'],
  ['-V, --version', 'Print the version.'],
]

const everyFlag =
  'Every flag has a variable: --auth-timeout is DRAWBRIDGE_AUTH_TIMEOUT; a key of ~/.drawbridge/config.json is a flag without its dashes, at the top or below servers and the URL. Durations are seconds, or 500ms, 20s, 5m.'

const exitCodes = 'Exit codes: 0 ok, 1 failed, 2 usage, 3 sign-in needed, 4 server unreachable.'

function commandRows(group: CommandRow['group']): (readonly [string, string])[] {
  return commandTable
    .filter((row) => row.group === group)
    .map(({ usage, description }) => [usage, description] as const)
}

/** Help of one command, with its examples first. */
export function commandHelp(row: CommandRow, width: number = terminalWidth()): string {
  const name = commandName(row)
  const lines = row.examples.map((example) =>
    asTyped(example.startsWith(name) ? `  drawbridge ${example}` : `  ${example}`),
  )
  const own: (readonly [string, string])[] = Object.entries(row.switches ?? {})
  if (row.json !== undefined) own.push(['--json', 'print the facts as one JSON object on stdout'])
  own.push(['-h, --help', 'print this'])
  const taken = row.shown.map((group) => `${group} (${flagsOf(group).join(' ')})`)
  return `${[
    `Examples:\n${lines.join('\n')}`,
    `Usage:\n  ${asTyped(`drawbridge ${row.usage}`)} [flags]\n\n${paragraph(row.description, width)}`,
    `Flags:\n${definitionList(own, width)}`,
    ...(taken.length === 0
      ? []
      : [
          paragraph(
            `It takes these settings as well: ${taken.join('; ')}. What each does: ${asTyped('drawbridge --help')}`,
            width,
          ),
        ]),
    ...(row.json === undefined ? [] : [`JSON:\n${definitionList(Object.entries(row.json), width)}`]),
    paragraph(exitCodes, width),
  ].join('\n\n')}\n`
}

function flagsOf(group: SettingGroup): string[] {
  return settings.flatMap((setting) => (setting.group === group && !setting.secret ? flagOf(setting) : []))
}

function settingHelp(group: SettingGroup, width: number): string {
  const rows = settings.filter((setting) => setting.group === group).map(settingRow)
  return `${group}:\n${definitionList(rows, width)}`
}

/** Help is on stdout; only a command line without a word has it on stderr. */
function terminalWidth(): number {
  return lineWidth(terminalColumns())
}

function settingRow(setting: Setting): readonly [string, string] {
  const value = setting.value === undefined ? '' : ` <${setting.value.replaceAll("'", '')}>`
  const both = setting.negative === undefined ? '' : `, ${setting.negative}`
  const name = setting.secret ? variableOf(setting) : `${flagOf(setting)}${value}${both}`
  return [name, `${setting.doc} (default: ${setting.defaultText})`]
}
