import { expect, it } from 'vitest'
import { isDeeperThan } from './json-depth.ts'

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
