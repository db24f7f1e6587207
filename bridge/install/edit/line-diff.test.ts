import { describe, expect, it } from 'vitest'
import { lineDiff, maskSecrets } from './line-diff.ts'

describe('the difference of two texts', () => {
  it.each([
    ['the same', 'a\n', 'a\n', ''],
    ['from nothing', '', 'a\nb\n', '@@ line 1 @@\n+a\n+b'],
    [
      'in two places',
      '1\n2\n3\n4\n5\n6\n7\n8\n9\n',
      '2\n3\n4\n5\n6\n7\n8\n9\n0\n',
      '@@ line 1 @@\n-1\n 2\n 3\n 4\n@@ line 7 @@\n 7\n 8\n 9\n+0',
    ],
    [
      'of a last line without end',
      'a',
      'a\nb',
      '@@ line 1 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file',
    ],
    ['whatever the line ends', 'a\r\nb\r\n', 'a\r\nc\r\nb\r\n', '@@ line 1 @@\n a\n+c\n b'],
  ])('%s', (_, before, after, diff) => {
    expect(lineDiff(before, after)).toBe(diff)
  })

  it('of large texts is still shown, without comparing all pairs', () => {
    const lines = (from: number): string =>
      Array.from({ length: 3000 }, (_, index) => `${from + index}\n`).join('')
    expect(lineDiff(lines(0), lines(100_000)).split('\n')).toHaveLength(6001)
  })

  it('says no secret of another entry', () => {
    const before = [
      '{',
      '  "mcpServers": {',
      '    "a": { "headers": { "Authorization": "Bearer s3cret-1" }, "env": { "MY_API_KEY": "s3cret-2", "CLIENT_SECRET": "s3cret-3\\"" } },',
      '    "b": { "args": ["--header", "X:Bearer s3cret-4", "ghp_s3cret555555"] },',
      '',
    ].join('\n')
    const diff = lineDiff(before, `${before}  "new": "bearer of news"\n`)
    expect(diff).not.toContain('s3cret')
    expect(diff).toContain('"new": "bearer of news"')
    expect(maskSecrets("token = 's3cret'")).toBe("token = '[masked]'")
    expect(maskSecrets('"args": ["--token=s3cret-77"]')).toBe('"args": ["--token=[masked]"]')
    expect(maskSecrets('"resource": "https://a.example/mcp"')).toBe('"resource": "https://a.example/mcp"')
  })
})
