import { expect, it } from 'vitest'
import { describeParser } from '../../tests/support/settings/describe-parser.ts'
import { durationParser, oneOf, parseList, parseSwitch, parseText, parseToken } from './value.ts'

describeParser(
  'parseSwitch',
  parseSwitch,
  [
    ['on', true],
    ['off', false],
    ['True', true],
    ['FALSE', false],
    ['1', true],
    ['0', false],
  ],
  ['', 'yes', 'maybe', 'constructor', 'on '],
)

describeParser(
  'parseList',
  parseList,
  [
    ['', []],
    [' , ,', []],
    ['google', ['google']],
    [' google , github,', ['google', 'github']],
  ],
  [],
)

describeParser(
  'oneOf',
  oneOf('info', 'debug').parse,
  [
    ['info', 'info'],
    ['debug', 'debug'],
  ],
  ['', 'INFO', 'toString', 'info,debug'],
)

describeParser(
  'parseToken',
  parseToken,
  [
    ['sb_publishable_x-Y', 'sb_publishable_x-Y'],
    [' abc.def\n', 'abc.def'],
  ],
  ['', 'a b', 'key\r\nx: y', 'é'],
)

describeParser('parseText', parseText, [['a b', 'a b']], ['', '  '])

const short = durationParser({ unitMs: 1, max: '24h', examples: '30 or 500ms' })

describeParser(
  'durations in milliseconds',
  short,
  [
    ['30', 30_000],
    ['500ms', 500],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['1d', 86_400_000],
  ],
  ['', '0', '0.1ms', '-5', '5 s', '25h', '2d', '1e3', '1H'],
)

it('the fault of a duration names the longest one', () => {
  expect(() => short('25h')).toThrow(
    'expected seconds, or a number with a unit, such as 30 or 500ms, up to 24h',
  )
})

it('the fault of a choice lists all choices', () => {
  const { choices, parse } = oneOf('a', 'b', 'c')
  expect(choices).toEqual(['a', 'b', 'c'])
  expect(() => parse('d')).toThrow('expected a, b or c')
})
