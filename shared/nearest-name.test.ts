import { expect, it } from 'vitest'
import { nearestName, suggestion } from './nearest-name.ts'

const names = ['--transport', '--proxy', '--retry', '--ca', '--no-open', '--scope']

it.each([
  ['--trasnport', '--transport'],
  ['--Transport', '--transport'],
  ['--transprot', '--transport'],
  ['--porxy', '--proxy'],
  ['--retyr', '--retry'],
  ['--noopen', '--no-open'],
  ['--something-else', undefined],
  ['--x', undefined],
])('the nearest name to %s is %s', (given, name) => {
  expect(nearestName(given, names)).toBe(name)
})

it('a suggestion is a question behind a fault, or empty', () => {
  expect(suggestion('--scop', names)).toBe(' Did you mean --scope?')
  expect(suggestion('--wholly-different', names)).toBe('')
  expect(suggestion('x', [])).toBe('')
})
