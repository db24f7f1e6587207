import { assert, constantFrom, property, string } from 'fast-check'
import { expect, it } from 'vitest'
import { matchesGlob } from './glob.ts'

it.each([
  ['a', 'a', true],
  ['a', 'ab', false],
  ['a', 'ba', false],
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['a*', 'ab', true],
  ['a*', 'ba', false],
  ['*b', 'ab', true],
  ['*b', 'ba', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['ab*ba', 'aba', false],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'axxbxxc', true],
  ['a*b*c', 'ac', false],
  ['a*bb*b', 'abb', false],
  ['*ab*b', 'ab', false],
  ['*ab*ab', 'ab', false],
  ['*x*y*', '1x2y3', true],
  ['*x*y*', '1y2x3', false],
  ['a.c', 'abc', false],
  ['a?c', 'abc', false],
])('the glob %j matches %j: %s', (pattern, text, matches) => {
  expect(matchesGlob(pattern, text)).toBe(matches)
})

it('matchesGlob agrees with a regular expression', () => {
  const patterns = string({ unit: constantFrom('a', 'b', '*'), maxLength: 8 })
  const texts = string({ unit: constantFrom('a', 'b'), maxLength: 10 })
  assert(
    property(patterns, texts, (pattern, text) => {
      expect(matchesGlob(pattern, text)).toBe(new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text))
    }),
    { numRuns: 1000 },
  )
})

it('matchesGlob takes time proportional to the text', () => {
  const before = process.cpuUsage()
  expect(matchesGlob('*a*a*a*a*a*a*a*a*b', 'a'.repeat(20_000))).toBe(false)
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(500)
})
