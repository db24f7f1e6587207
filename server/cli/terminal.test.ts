import { describe, expect, it } from 'vitest'
import { textTable } from './terminal.ts'

describe('a table', () => {
  it('has columns as wide as their widest cell, and no blanks at the end', () => {
    expect(
      textTable(
        ['key', 'n', ''],
        [
          ['a', '100', 'note'],
          ['longer', '1'],
        ],
      ),
    ).toBe('key     n\na       100  note\nlonger  1')
  })
})
