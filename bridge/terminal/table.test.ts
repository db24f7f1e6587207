import { describe, expect, it } from 'vitest'
import { definitionList, textTable } from './table.ts'

describe('a table', () => {
  it('has columns as wide as their widest cell, and no blanks at the end', () => {
    const rows = [
      ['a', '100', 'note'],
      ['longer', '1'],
    ]
    expect(textTable(['key', 'n', ''], rows)).toBe('key     n\na       100  note\nlonger  1')
  })
})

describe('a list of definitions', () => {
  it('folds long texts beside their names', () => {
    expect(
      definitionList(
        [
          ['--a', 'one two three four five'],
          ['--long', 'six'],
        ],
        30,
      ),
    ).toBe('  --a     one two three four\n          five\n  --long  six')
  })

  it('never cuts a word', () => {
    const word = 'x'.repeat(200)
    expect(definitionList([['--a', `before ${word} after`]], 40)).toContain(word)
  })
})
