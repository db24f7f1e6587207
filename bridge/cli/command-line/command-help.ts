import type { Command, Option } from 'commander'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { definitionList, lineWidth, paragraph } from '@drawbridge/shared/terminal/table.ts'
import { settings } from '../../config/setting-table.ts'
import { commandName, type CommandRow } from '../command.ts'
import { terminalColumns } from '../terminal/output.ts'
import { asTyped } from '../terminal/program-name.ts'
import { commandTable } from './command-table.ts'

type Lines = readonly (readonly [line: string, what: string])[]

const firstExamples: Lines = [
  ['drawbridge https://mcp.example.com/mcp', 'for a client to start'],
  ['drawbridge login https://mcp.example.com/mcp', 'sign in before any client asks'],
]
const doctorExample: Lines = [
  ['drawbridge doctor https://mcp.example.com/mcp', 'find faults, and what to do about them'],
]
const examples: Lines = [
  ...firstExamples,
  ["drawbridge https://mcp.example.com/mcp --header 'X-Team: ${TEAM}'", 'with a header, of a variable'],
  ['drawbridge https://mcp.example.com/mcp --ignore-tool "delete_*"', 'without some tools'],
  ...doctorExample,
]
const firstSteps: Lines = [
  ...firstExamples,
  ['drawbridge install cursor https://mcp.example.com/mcp', 'add it to a client'],
  ...doctorExample,
]

const everyFlag =
  'Every flag has a variable: --allow-tool is DRAWBRIDGE_ALLOW_TOOL; a key of ~/.drawbridge/config.json is a flag without its dashes, at the top or below servers and the URL. --no- in front of a switch, as in --no-debug, turns off what a variable or the file turns on. Durations are seconds, or 500ms, 20s, 5m.'

const settingsToo = 'It takes the flags of a connection as well: drawbridge --help'

const exitCodes = 'Exit codes: 0 ok, 1 failed, 2 usage, 3 sign-in needed, 4 server unreachable.'

const terminalWidth = (): number => lineWidth(terminalColumns())
const widthOf = (command: Command): number => command.configureOutput().getOutHelpWidth?.() ?? terminalWidth()

function layOut(command: Command): Command {
  return command
    .configureOutput({ getOutHelpWidth: terminalWidth })
    .helpOption('-h, --help', 'Print this; after a command: its help.')
    .configureHelp({
      optionTerm,
      subcommandTerm: (sub) =>
        commandTable.find((row) => commandName(row) === nameOf(sub))?.usage ?? sub.name(),
      visibleCommands: ({ commands }) => commands.flatMap((sub) => [sub, ...sub.commands]),
    })
}

function nameOf(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${parent.name()} ${command.name()}` : command.name()
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

/** Adds a command's own flags and its help. */
export function describeCommand(command: Command, row: CommandRow): void {
  const name = commandName(row)
  const examples = row.examples.map((line) => (line.startsWith(name) ? `  drawbridge ${line}` : `  ${line}`))
  layOut(command)
    .usage(`${row.usage.slice(name.length).trim()} [flags]`.trim())
    .description(row.description)
    .helpGroup(`${row.group}:`)
    .addHelpText('before', `Examples:\n${examples.join('\n')}\n\n`)
    .addHelpText('after', () => {
      const width = widthOf(command)
      const json = `JSON:\n${definitionList(Object.entries(row.json), width)}`
      return `\n${[paragraph(settingsToo, width), json, paragraph(exitCodes, width)].join('\n\n')}`
    })
    .option('--json', 'print the facts as one JSON object on stdout')
  for (const [flags, text] of Object.entries(row.switches ?? {})) command.option(flags, text)
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

function typed(rows: Lines): Lines {
  return rows.map(([line, what]) => [asTyped(line), what])
}
