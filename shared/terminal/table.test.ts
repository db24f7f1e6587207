import { describe, expect, it } from 'vitest'
import { definitionList, lineWidth, paragraph, textTable } from './table.ts'

it('a table has columns as wide as their widest cell, without trailing blanks', () => {
  const rows = [
    ['a', '100', 'note'],
    ['longer', '1'],
  ]
  expect(textTable(['key', 'n', ''], rows)).toBe('key     n\na       100  note\nlonger  1')
})

describe('a list of definitions', () => {
  const rows = [
    ['--a', 'one two three four five six seven'],
    ['--long', 'six'],
  ] as const

  it('a list of definitions folds long texts beside their names', () => {
    expect(definitionList(rows, 42)).toBe(
      '  --a     one two three four five six\n          seven\n  --long  six',
    )
  })

  it('a list of definitions puts texts below their names if there is no room', () => {
    expect(definitionList(rows, 34)).toBe(
      '  --a\n      one two three four five six\n      seven\n  --long\n      six',
    )
  })

  it('a list of definitions never cuts a word', () => {
    const word = 'x'.repeat(200)
    expect(definitionList([['--a', `before ${word} after`]], 40)).toContain(word)
  })
})

it('a paragraph is folded at its width', () => {
  expect(paragraph('one two three', 7)).toBe('one two\nthree')
  expect(paragraph('one two three')).toBe('one two three')
})

it.each([
  [undefined, 100],
  [0, 100],
  [20, 40],
  [80, 80],
  [300, 100],
])('a paragraph on a terminal of %s columns is %d wide', (columns, width) => {
  expect(lineWidth(columns)).toBe(width)
})
