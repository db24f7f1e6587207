import { beforeEach, describe, expect, it } from 'vitest'
import { settings } from '../../config/setting-table.ts'
import { flagOf } from '@drawbridge/shared/settings/setting.ts'
import { commandName } from '../command.ts'
import { commandTable } from './command-table.ts'
import { runCommand } from '../../../tests/support/bridge/cli/command-run.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

describe('the command line', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  it.each(commandTable)('the command line has help for $usage, with examples that call it', async (row) => {
    const name = commandName(row)
    for (const flag of ['--help', '-h']) {
      const { code, stdout, stderr } = await runCommand([...name.split(' '), flag], { home })
      expect(code).toBe(0)
      expect(stderr).toBe('')
      expect(stdout).toMatch(/^Examples:\n/)
      expect(stdout).toContain(`drawbridge ${row.usage} [flags]`)
      for (const flagOfRow of Object.keys(row.switches ?? {})) expect(stdout).toContain(flagOfRow)
    }
    for (const example of row.examples) expect(example).toContain(name)
  })

  it('the command line has help for the program with every command and every flag', async () => {
    const { stdout, code } = await runCommand(['--help'], { home })
    expect(code).toBe(0)
    for (const row of commandTable) expect(stdout).toContain(row.usage)
    for (const setting of settings.filter(({ secret }) => !secret)) {
      expect(stdout).toContain(setting.negative ?? flagOf(setting))
    }
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThan(120)
  })

  it('the command line prints the help on stderr without arguments', async () => {
    const { code, stderr, stdout } = await runCommand([], { home })
    expect(code).toBe(2)
    expect(stderr).toContain('drawbridge login https://mcp.example.com/mcp')
    expect(stderr.split('\n').length).toBeLessThan(15)
    expect(stderr).toMatch(/Every command and flag: drawbridge --help$/)
    expect(stdout).toBe('')
  })

  it('the command line suggests the command that a misspelt word may mean', async () => {
    const { code, stderr } = await runCommand(['lgoin', 'https://mcp.example.com/mcp'], { home })
    expect(code).toBe(2)
    expect(stderr).toContain('Unknown command: lgoin. Did you mean login?')
  })

  it('the command line reports all faults of a command at once, with the next step at the end', async () => {
    const { code, stderr } = await runCommand(['login', 'mcp.example.com', '--bad', '--retry', 'x'], { home })
    expect(code).toBe(2)
    expect(stderr.split('\n')).toEqual([
      'drawbridge login failed.',
      '  - --bad: there is no such flag.',
      expect.stringContaining('--retry: expected seconds'),
      expect.stringContaining('Did you mean https://mcp.example.com?'),
      'Every flag: drawbridge login --help',
    ])
  })
})
