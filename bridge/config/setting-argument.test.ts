import { array, assert as assertProperty, constantFrom, oneof, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseArguments, settingFlags } from './setting-argument.ts'

const url = 'https://mcp.example.com/mcp'

describe('the words of a command line', () => {
  it.each<[words: string[], operands: string[], flags: Record<string, string[]>]>([
    [[url], [url], {}],
    [[url, '3334'], [url, '3334'], {}],
    [['--transport', 'sse-only', url], [url], { transport: ['sse-only'] }],
    [[url, '--transport=sse-only'], [url], { transport: ['sse-only'] }],
    [[url, '--header', 'A: 1', '--header=B: 2=3'], [url], { headers: ['A: 1', 'B: 2=3'] }],
    [[url, '--debug', '3334'], [url, '3334'], { debug: ['on'] }],
    [[url, '--debug=off'], [url], { debug: ['off'] }],
    [[url, '--no-open', '--no-proxy'], [url], { open: ['off'], proxy: ['off'] }],
    [[url, '--open'], [url], { open: ['on'] }],
    [[url, '--scope', '--odd'], [url], { scope: ['--odd'] }],
    [[url, '--scope='], [url], { scope: [''] }],
    [['--', url, '--debug'], [url, '--debug'], {}],
    [[url, '-'], [url, '-'], {}],
    [[url, '--debug', '--debug'], [url], { debug: ['on'] }],
  ])('%j are understood', (words, operands, flags) => {
    const line = parseArguments(words, [])
    expect(line.problems).toEqual([])
    expect(line.operands).toEqual(operands)
    expect(line.flags).toEqual(flags)
  })

  it.each<[words: string[], problem: string]>([
    [['--transprot', 'x'], '--transprot: there is no such flag. Did you mean --transport?'],
    [['--wholly-unknown'], '--wholly-unknown: there is no such flag.'],
    [['-x'], '-x: there is no such flag.'],
    [['--scope'], '--scope: a value is missing, as in --scope <scopes>.'],
    [['--no-open=on'], '--no-open: takes no value.'],
    [['--retry', '5', '--retry', '6'], '--retry: is given twice, with different values.'],
    [['--json=yes'], '--json: takes no value.'],
    [['--name'], '--name: a value is missing, as in --name <name>.'],
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
  ])('%j are refused', (words, problem) => {
    const line = parseArguments(words, ['--json', '--name <name>'])
    expect(line.problems).toEqual([problem])
    expect(line.operands).toEqual([])
  })

  it('tells all faults at once', () => {
    expect(parseArguments(['--aaaa', '--bbbb', '--scope'], []).problems).toHaveLength(3)
  })

  it('has the flags of the command apart', () => {
    const line = parseArguments([url, '--json', '--name', 'x', '--all'], ['--json', '--all', '--name <name>'])
    expect([...line.switches]).toEqual(['--json', '--all'])
    expect(line.values.get('--name')).toBe('x')
    expect(parseArguments(['--name=y'], ['--name <name>']).values.get('--name')).toBe('y')
  })

  it('warns of flags that are not needed', () => {
    const line = parseArguments([url, '--enable-proxy'], [])
    expect(line.problems).toEqual([])
    expect(line.warnings).toHaveLength(1)
  })

  it('never throws, and loses no word', () => {
    const word = oneof(string(), constantFrom(...settingFlags, '--', '--json', '--x=', '--=', '-'))
    assertProperty(
      property(array(word), (words) => {
        const line = parseArguments(words, ['--json'])
        const kept = line.operands.length + Object.keys(line.flags).length + line.problems.length
        const hasAny = words.some((text) => text !== '--' && text !== '--json')
        if (hasAny) expect(kept).toBeGreaterThan(0)
      }),
    )
  })
})
