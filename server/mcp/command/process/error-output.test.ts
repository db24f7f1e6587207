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

it('error output is logged up to 20 lines a second, and the next line says once how many were left out', () => {
  const logged: [line: string, skipped: number][] = []
  let now = 0
  const output = new ErrorOutput(
    [],
    (...line) => logged.push(line),
    () => now,
  )
  for (let number = 1; number <= 25; number += 1) output.push(`line ${number}\n`)
  expect(logged).toHaveLength(20)
  expect(logged.at(-1)).toEqual(['line 20', 0])
  now = 1000
  output.push('after\nthen\n')
  expect(logged.slice(20)).toEqual([
    ['after', 5],
    ['then', 0],
  ])
  // The tail is for the report of a death, and has them all.
  expect(output.tail).toContain('line 25\nafter\nthen\n')
})
