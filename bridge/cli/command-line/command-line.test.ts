import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { settings } from '../../config/setting-table.ts'
import { flagOf } from '../../config/setting.ts'
import { commandName } from '../command.ts'
import { commandTable } from './command-table.ts'
import { runCommand } from '../../../tests/support/bridge/cli/command-run.ts'

describe('the command line', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'drawbridge-command-'))
  })
  afterEach(() => rmSync(home, { recursive: true }))

  it.each(commandTable)('has help for $usage, with examples that call it', async (row) => {
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

  it('has help for the program with every command and every flag', async () => {
    const { stdout, code } = await runCommand(['--help'], { home })
    expect(code).toBe(0)
    for (const row of commandTable) expect(stdout).toContain(row.usage)
    for (const setting of settings.filter(({ secret }) => !secret)) {
      expect(stdout).toContain(setting.negative ?? flagOf(setting))
    }
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThan(120)
  })

  it('says what a misspelt command was meant to be', async () => {
    const { code, stderr, stdout } = await runCommand(['lgoin', 'https://x.example'], { home })
    expect(code).toBe(2)
    expect(stderr).toContain('Did you mean login?')
    expect(stdout).toBe('')
  })

  it('without a word prints the help on stderr', async () => {
    const { code, stderr, stdout } = await runCommand([], { home })
    expect(code).toBe(2)
    expect(stderr).toContain('drawbridge login https://mcp.example.com/mcp')
    expect(stderr.split('\n').length).toBeLessThan(15)
    expect(stderr).toMatch(/Every command and flag: drawbridge --help$/)
    expect(stdout).toBe('')
  })

  it('tells all faults of a command at once, with what to do at the end', async () => {
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

  it('completes in bash', async () => {
    const { stdout } = await runCommand(['completion', 'bash'], { home })
    const script = join(home, 'completion.bash')
    writeFileSync(script, stdout)
    const complete = (...words: string[]): string[] =>
      execFileSync('bash', [
        '-c',
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _drawbridge; printf "%s\\n" "${COMPREPLY[@]}"',
        'bash',
        script,
        ...words,
      ])
        .toString()
        .trimEnd()
        .split('\n')
    expect(complete('drawbridge', 'log')).toEqual(['login', 'logout'])
    expect(complete('drawbridge', 'token', 's')).toEqual(['set'])
    expect(complete('drawbridge', 'login', '--fo')).toEqual(['--force'])
    expect(complete('drawbridge', 'https://x', '--transport', 'sse')).toEqual(['sse-first', 'sse-only'])
    expect(complete('drawbridge', 'https://x', '--no-')).toEqual(['--no-open', '--no-proxy'])
    expect(complete('drawbridge', 'completion', 'f')).toEqual(['fish'])
  })

  it.each(['bash', 'zsh', 'fish'])('completes every flag in %s, and none that is secret', async (shell) => {
    const { stdout, code } = await runCommand(['completion', shell], { home })
    expect(code).toBe(0)
    for (const setting of settings) {
      const written = shell === 'fish' ? `-l ${setting.name} ` : `${flagOf(setting)} `
      if (setting.secret) expect(stdout).not.toContain(written)
      else expect(`${stdout} `).toContain(written)
    }
  })

  it('knows no other shell', async () => {
    const { code, stderr } = await runCommand(['completion', 'powershell'], { home })
    expect(code).toBe(2)
    expect(stderr).toContain('bash, zsh or fish')
  })
})
