import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { isSameScalar, parseExactJson, parseExactObject, plainNumber } from './exact-json.ts'
import { isExactNumber, isJsonObject } from './json-object.ts'

it.each([
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '123456789012345678901234567890',
  '1.0',
  '-1.0',
  '10.50',
  '-0',
  '-0.0',
  '0.0000001',
  '-0.0000001',
  '0.1000000000000000055511151231257827',
  '1e400',
  '-1E+2',
  '1.5e-3',
  '1e21',
])('the number %s is written as it came, wherever it stands', (number) => {
  for (const text of [
    number,
    `[${number}]`,
    `[1,${number}]`,
    `{"a":${number}}`,
    `{"a":{"__proto__":[{"b":${number}}]}}`,
  ])
    expect(JSON.stringify(parseExactJson(text))).toBe(text)
  expect(JSON.stringify(parseExactJson(`{ "a" :\n\t${number} }`))).toBe(`{"a":${number}}`)
  expect(isExactNumber(parseExactJson(number))).toBe(true)
  expect(isJsonObject(parseExactJson(number))).toBe(false)
  expect(plainNumber(parseExactJson(number))).toBe(Number(number))
})

it.each([
  '0',
  '7',
  '-7',
  '1.5',
  '0.000001',
  '999999999999999',
  '"1.0"',
  '", 1.0"',
  'null',
  '{"a":[1,10,100]}',
])('%s is parsed as JSON.parse does', (text) => {
  const value: unknown = JSON.parse(text)
  expect(parseExactJson(text)).toEqual(value)
  expect(plainNumber(value)).toBe(value)
})

it('every number of up to 40 digits is written unchanged', () => {
  const digits = fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?$/)
  fc.assert(
    fc.property(digits, (number) => JSON.stringify(parseExactJson(`[${number}]`)) === `[${number}]`),
    {
      seed: 1,
      numRuns: 5000,
    },
  )
})

it.each(['{"a":1.0', '01.0', '1.0.0', ''])('the text %j is rejected as JSON', (text) => {
  expect(() => parseExactJson(text)).toThrow(SyntaxError)
  expect(parseExactObject(text)).toBeUndefined()
})

it.each(['1.0', '[1.0]', 'null'])('%s is rejected as an object', (text) => {
  expect(parseExactObject(text)).toBeUndefined()
})

it('an exact object keeps its numbers unchanged', () => {
  expect(JSON.stringify(parseExactObject(' {"a":1.0} '))).toBe('{"a":1.0}')
})

it.each<[string, string, boolean]>([
  ['1', '1', true],
  ['"1"', '1', false],
  ['9007199254740993', '9007199254740993', true],
  ['9007199254740993', '9007199254740992', false],
])('exact JSON %s is the same as %s: %s', (one, other, isSame) => {
  expect(isSameScalar(parseExactJson(one), parseExactJson(other))).toBe(isSame)
})

it('a number is rounded if the engine cannot keep it', () => {
  const { rawJSON } = JSON
  delete JSON.rawJSON
  try {
    expect(JSON.stringify(parseExactJson('{"a":1.0,"b":9007199254740993}'))).toBe(
      '{"a":1,"b":9007199254740992}',
    )
  } finally {
    if (rawJSON) JSON.rawJSON = rawJSON
  }
})
