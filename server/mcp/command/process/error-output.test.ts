import { describe, expect, it } from 'vitest'
import { ErrorOutput } from './error-output.ts'

const secret = 'provider-token-of-ada'

function linesOf(chunks: readonly string[]): { lines: string[]; tail: string } {
  const lines: string[] = []
  const output = new ErrorOutput(
    [secret],
    (line) => lines.push(line),
    () => 0,
  )
  for (const chunk of chunks) output.push(chunk)
  output.end()
  return { lines, tail: output.tail }
}

describe('a secret in error output', () => {
  it.each([2048 - 6, 2048 - secret.length, 2047, 2048, 0])(
    'a secret in error output that begins at character %i is masked in the log whole',
    (at) => {
      const { lines, tail } = linesOf([`${'x'.repeat(at)}${secret} and more\n`])
      for (let length = 4; length <= secret.length; length += 1)
        expect(`${lines.join('\n')}${tail}`).not.toContain(secret.slice(0, length))
    },
  )

  it('a secret in error output that arrives in pieces is masked', () => {
    expect(linesOf(['a provider-', 'token-of-ada b\n']).lines).toEqual(['a *** b'])
  })
})
