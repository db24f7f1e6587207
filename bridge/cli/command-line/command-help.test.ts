import { describe, expect, it } from 'vitest'
import { commandHelp, programHelp } from './command-help.ts'
import { commandTable } from './command-table.ts'

/** The longest line that is no command line, URL or name: those are not folded. */
function longest(text: string): number {
  const lines = text.split('\n').filter((line) => !/^ {2}\S|https?:/.test(line))
  return Math.max(...lines.map((line) => line.length))
}

describe('help', () => {
  it.each([40, 60, 80, 100])('on a terminal of %d columns is no wider', (width) => {
    expect(longest(programHelp(width))).toBeLessThanOrEqual(width)
    for (const row of commandTable) expect(longest(commandHelp(row, width))).toBeLessThanOrEqual(width)
  })

  it('names both words of what can be switched on and off, and how to ask', () => {
    const help = programHelp(100)
    expect(help).toContain('  --open, --no-open  ')
    expect(help).toContain('  --proxy <url>, --no-proxy  ')
    expect(help).toMatch(/^ {2}-h, --help +Print this/m)
    expect(help).toMatch(/^ {2}-V, --version +Print the version/m)
  })
})
