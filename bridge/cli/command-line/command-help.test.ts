import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { FlagReader } from '../../config/setting-argument.ts'
import { commandName } from '../command.ts'
import { createProgram } from './command-line.ts'
import { commandTable } from './command-table.ts'

/** The help of the program, or of the command that `name` calls, on a terminal of `width` columns. */
function helpOf(name: string, width: number): string {
  const printed: string[] = []
  const runner = { print: (text: string) => void printed.push(text), run: async () => {} }
  let command: Command | undefined = createProgram(name.split(' '), new FlagReader(), runner)
  for (const word of name.split(' ').filter(Boolean))
    command = command?.commands.find((known) => known.name() === word)
  command?.configureOutput({ getOutHelpWidth: () => width }).outputHelp()
  return printed.join('')
}

/** The longest line other than command lines, URLs and names, which are not folded. */
function longest(text: string): number {
  const lines = text.split('\n').filter((line) => !/^Usage:|^ {2}\S|https?:/.test(line))
  return Math.max(...lines.map((line) => line.length))
}

it.each([40, 60, 80, 100])('the help fits a terminal of %d columns', (width) => {
  for (const name of ['', ...commandTable.map(commandName)])
    expect(longest(helpOf(name, width))).toBeLessThanOrEqual(width)
})

it('the help names both forms of a switch, and how to get help', () => {
  const help = helpOf('', 100)
  expect(help).toMatch(/^ {2}--open, --no-open {2}/m)
  expect(help).toMatch(/^ {2}--proxy <url>, --no-proxy {2}/m)
  expect(help).toMatch(/^ {2}-h, --help +Print this/m)
  expect(help).toMatch(/^ {2}-V, --version +Print the version/m)
})
