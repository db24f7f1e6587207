import { expect, it } from 'vitest'
import { countMembers, structureOf } from './json-structure.ts'

it.each<[text: string, depth: number]>([
  ['1', 0],
  ['"[[["', 0],
  ['[]', 1],
  ['[[],[],{}]', 2],
  ['{"a":{"b":[1,{"c":2}]}}', 4],
  ['{"[":"]","{\\"[":[]}', 2],
  ['["\\\\",[]]', 2],
  ['["\\\\\\"[[["]', 1],
])('the JSON %s is %i deep', (text, depth) => {
  JSON.parse(text)
  expect(structureOf(text).depth).toBe(depth)
})

it.each(['"', '["\\', ']]]]', ''])('structureOf ends on invalid text: %j', (text) => {
  expect(structureOf(text).depth).toBeLessThan(2)
})

it.each<[text: string, containers: number, members: number]>([
  ['"{:[\\":{"', 0, 0],
  ['[[],{}]', 3, 0],
  ['{"a":{"b:c":[1]},"a":{}}', 4, 3],
])('the JSON %s has %i objects and arrays and %i members', (text, containers, members) => {
  expect(structureOf(text)).toMatchObject({ containers, members })
})

it('structureOf reads a body of the largest size', () => {
  const strings = `["${'\\\\\\"'.repeat(1_000_000)}"]`
  expect(structureOf(strings).depth).toBe(1)
  expect(structureOf('['.repeat(4_000_000)).depth).toBe(4_000_000)
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
])('the JSON %s has a member twice: %s', (text, repeated) => {
  expect(countMembers(JSON.parse(text)) < structureOf(text).members).toBe(repeated)
})
