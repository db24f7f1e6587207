import { describe, expect, it } from 'vitest'
import { readAnswer } from './streamable-http.ts'

describe('a large answer', () => {
  const fill = (item: string, count: number): string => Array.from({ length: count }, () => item).join(',')

  it.each<[what: string, text: string]>([
    ['of empty objects', `[${fill('{}', 2_000_001)}]`],
    ['of empty arrays within each other', `[${fill('[[[[]]]]', 500_001)}]`],
    ['of members', `{"jsonrpc":"2.0","id":1,"result":{${fill('"a":1', 2_000_000)}}}`],
  ])('%s is refused before it is parsed', (_what, text) => {
    expect(() => readAnswer(Buffer.from(text))).toThrow('more than 2,000,000 values')
  })

  it('of one long text full of brackets is no matter', () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"a":"${'{\\"[:'.repeat(2_000_000)}"}}`
    expect(readAnswer(Buffer.from(text))).toMatchObject({ envelope: { kind: 'response' }, text })
  })
})
