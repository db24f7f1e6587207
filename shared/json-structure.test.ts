import { expect, it } from 'vitest'
import { hasRepeatedMember, isDeeperThan } from './json-structure.ts'

it.each<[text: string, depth: number]>([
  ['1', 0],
  ['"[[["', 0],
  ['[]', 1],
  ['[[],[],{}]', 2],
  ['{"a":{"b":[1,{"c":2}]}}', 4],
  ['{"[":"]","{\\"[":[]}', 2],
  ['["\\\\",[]]', 2],
  ['["\\\\\\"[[["]', 1],
])('%s is %i deep', (text, depth) => {
  JSON.parse(text)
  expect(isDeeperThan(depth, text)).toBe(false)
  if (depth > 0) expect(isDeeperThan(depth - 1, text)).toBe(true)
})

it.each(['"', '["\\', ']]]]', ''])('ends at %j, which is not valid', (text) => {
  expect(isDeeperThan(5, text)).toBe(false)
})

it('reads a body of the largest size in one go', () => {
  const strings = `["${'\\\\\\"'.repeat(1_000_000)}"]`
  expect(isDeeperThan(1, strings)).toBe(false)
  expect(isDeeperThan(100, '['.repeat(4_000_000))).toBe(true)
})

it.each<[text: string, repeated: boolean]>([
  ['{"a":1,"a":1}', true],
  ['{"a":{"b":1,"c":[{"d":1,"d":2}]}}', true],
  [String.raw`{"a":1,"\u0061":2}`, true],
  ['{"__proto__":1,"__proto__":2}', true],
  ['{"a":1,"A":1}', false],
  ['[{"a":1},{"a":1}]', false],
  ['{"a":"b:c","d":"\\":","__proto__":{"e":1}}', false],
  [String.raw`{"a":"\\","b":":\":"}`, false],
  ['1', false],
  ['":"', false],
])('%s has a member twice: %s', (text, repeated) => {
  expect(hasRepeatedMember(text, JSON.parse(text))).toBe(repeated)
})
