import { expect, test } from 'vitest'

import { isJsonObject, parseJsonObject } from './json-object.ts'

test.each<[string, boolean]>([
  ['{}', true],
  ['{"a":[1]}', true],
  [' {"a":null} ', true],
  ['[]', false],
  ['null', false],
  ['"{}"', false],
])('whether %s is a JSON object: %j', (text, isObject) => {
  const value: unknown = JSON.parse(text)
  expect(isJsonObject(value)).toBe(isObject)
  expect(parseJsonObject(text)).toEqual(isObject ? value : undefined)
})

test('undefined is not a JSON object', () => {
  expect(isJsonObject(undefined)).toBe(false)
})

test.each(['', '{', '{}x', "{'a':1}", '\ufeff{}', '{"a":1,}', 'undefined'])(
  'invalid JSON is not an object: %j',
  (text) => {
    expect(parseJsonObject(text)).toBeUndefined()
  },
)

test('a __proto__ member stays an own member', () => {
  const parsed = parseJsonObject('{"__proto__":{"a":1}}')
  expect(Object.keys(parsed ?? {})).toEqual(['__proto__'])
  expect(parsed?.['a']).toBeUndefined()
})
