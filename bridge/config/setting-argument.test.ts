import { CommanderError } from 'commander'
import { array, assert as assertProperty, constantFrom, oneof, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readWords } from '../../tests/support/bridge/cli/command-words.ts'
import { settingFlags } from './setting-table.ts'

const url = 'https://mcp.example.com/mcp'

describe('the words of a command line', () => {
  it.each<[words: string[], operands: string[], flags: Record<string, string[]>]>([
    [[url], [url], {}],
    [[url, '3334'], [url, '3334'], {}],
    [['--transport', 'sse-only', url], [url], { transport: ['sse-only'] }],
    [[url, '--transport=sse-only'], [url], { transport: ['sse-only'] }],
    [[url, '--header', 'A: 1', '--header=B: 2=3'], [url], { headers: ['A: 1', 'B: 2=3'] }],
    [[url, '--debug', '3334'], [url, '3334'], { debug: ['on'] }],
    [[url, '--no-debug'], [url], { debug: ['off'] }],
    [[url, '--callback-path', '/cb', '--silent', '3334'], [url, '3334'], {}],
    [[url, '--no-open', '--no-proxy'], [url], { open: ['off'], proxy: ['off'] }],
    [[url, '--open'], [url], { open: ['on'] }],
    [[url, '--scope', '--odd'], [url], { scope: ['--odd'] }],
    [[url, '--scope='], [url], { scope: [''] }],
    [[url, '-'], [url, '-'], {}],
    [[url, '--debug', '--debug'], [url], { debug: ['on'] }],
  ])('the words %j of a command line are understood', (words, operands, flags) => {
    const line = readWords(words)
    expect(line.problems).toEqual([])
    expect(line.operands).toEqual(operands)
    expect(line.flags).toEqual(flags)
  })

  it.each<[words: string[], problem: string]>([
    [['--transprot', 'x'], '--transprot: there is no such flag. Did you mean --transport?'],
    [['--wholly-unknown'], '--wholly-unknown: there is no such flag.'],
    [['-x'], '-x: there is no such flag.'],
    [['--no-open=on'], '--no-open: takes no value.'],
    [['--retry', '5', '--retry', '6'], '--retry: is given twice, with different values.'],
    [['--json=yes'], '--json: takes no value.'],
    [['--oauth2Bearer', 'abc'], '--oauth2Bearer: there is no such flag. Use the variable DRAWBRIDGE_TOKEN.'],
    [
      ['--streamableHttp', url],
      '--streamableHttp: there is no such flag. Use the URL alone: drawbridge <url>.',
    ],
    [
      ['--token', 'abc'],
      '--token: is not a flag, because every user of this computer could see it. Use DRAWBRIDGE_TOKEN.',
    ],
    [['--constructor'], '--constructor: there is no such flag.'],
  ])('the words %j of a command line are refused', (words, problem) => {
    const line = readWords(words, ['--json', '--name <name>'])
    expect(line.problems).toEqual([problem])
    expect(line.operands).toEqual([])
  })

  it('a command line reports all faults at once', () => {
    expect(readWords(['--aaaa', '--bbbb', '--token', 'x']).problems).toHaveLength(3)
  })

  it('a command line warns of flags that are not needed', () => {
    const line = readWords([url, '--enable-proxy'])
    expect(line.problems).toEqual([])
    expect(line.warnings).toHaveLength(1)
  })

  it.each(['-V', '--version', '-h', '--help'])(
    'the flag %s prints, wherever it stands, and nothing else is done',
    (word) => {
      for (const words of [[word], [url, word], [word, '--wholly-unknown']])
        expect(() => readWords(words)).toThrow(CommanderError)
    },
  )

  it('a command line loses no word', () => {
    // Flags that print the help or the version do nothing else.
    const text = string().filter((word) => !/^-([Vh]|-version|-help)/.test(word))
    const word = oneof(text, constantFrom(...settingFlags, '--', '--json', '--x=', '--=', '-'))
    assertProperty(
      property(array(word), (words) => {
        // Give the last flag a value if it takes one.
        const line = readWords([...words, 'x'], ['--json'])
        const kept = line.operands.length + Object.keys(line.flags).length + line.problems.length
        expect(kept).toBeGreaterThan(0)
      }),
    )
  })
})
