import { describe, expect, it } from 'vitest'
import { type Finding, findingSummary, findingText } from './finding.ts'

const plain = { nameWidth: 20, colour: (_colour: string, text: string): string => text }
const finding: Finding = {
  name: 'clock',
  state: 'fail',
  message: 'The clocks are far apart from each other.',
  fix: 'Set the clock by the network, soon.',
}

describe('the text of a finding', () => {
  it('a finding is one line per text without a width', () => {
    expect(findingText(finding, plain)).toBe(
      `fail  clock                 ${finding.message}\n${' '.repeat(28)}-> ${String(finding.fix)}`,
    )
  })

  it('a finding is folded to the width of the terminal, and indented', () => {
    expect(findingText(finding, { ...plain, columns: 60 }).split('\n')).toEqual([
      'fail  clock                 The clocks are far apart from',
      '                            each other.',
      '                            -> Set the clock by the network,',
      '                               soon.',
    ])
  })

  it('a finding escapes control characters from a server', () => {
    const evil = '\u001B[2J\nok'
    const text = findingText({ ...finding, message: `It is ${evil}.`, fix: `Tell ${evil}` }, plain)
    expect(text.split('\n')).toHaveLength(2)
    expect(text).toContain(String.raw`It is \u001b[2J\u000aok.`)
    expect(text).toContain(String.raw`-> Tell \u001b[2J\u000aok`)
  })

  it('a report ends with a summary of all findings', () => {
    expect(
      findingSummary([
        { name: 'a', state: 'ok', message: '' },
        { name: 'b', state: 'warn', message: '' },
        { name: 'c', state: 'fail', message: '' },
      ]),
    ).toBe('1 ok, 1 warning, 1 failed. Repair what failed, from the top, and run doctor again.')
    expect(findingSummary([{ name: 'a', state: 'note', message: '' }])).toBe(
      '0 ok, 1 note to check yourself, 0 warnings, 0 failed.',
    )
    expect(findingSummary([])).toBe('0 ok, 0 warnings, 0 failed.')
  })
})
