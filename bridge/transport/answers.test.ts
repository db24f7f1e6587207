import { describe, expect, it } from 'vitest'
import { type JsonRpcId, readMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { addressed, readAnswer } from './answers.ts'

const addressedTo = (text: string, ...ids: JsonRpcId[]): unknown =>
  addressed(readMessage(Buffer.from(text)), new Set(ids))
const result = (id: string): string => `{"jsonrpc":"2.0","id":${id},"result":{"a":9007199254740993}}`
const error = (id: string): string =>
  `{"jsonrpc":"2.0",${id}"error":{"code":-32602,"message":"m","data":[1]}}`

describe('an answer', () => {
  it.each<[what: string, text: string, waiting: JsonRpcId[], id: JsonRpcId]>([
    ['with its id', result('7'), [7], 7],
    ['with its id, beside a request whose id is the number of it', result('"7"'), [7, '7'], '7'],
    ['with the number of its id as text', result('"7"'), [7, 8], 7],
    ['with a negative number as text', result('"-1"'), [-1], -1],
    ['that is an error with id null', error('"id":null,'), [7], 7],
    ['that is an error without an id', error(''), ['a'], 'a'],
    ['that is an error with its id as text', error('"id":"7",'), [7], 7],
  ])('%s belongs to the request', (_what, text, waiting, id) => {
    expect(addressedTo(text, ...waiting)).toMatchObject({ envelope: { kind: 'response', id } })
    const { text: passed } = addressedTo(text, ...waiting) as { text: string }
    const { id: _, ...rest } = JSON.parse(text)
    expect(JSON.parse(passed)).toEqual({ ...rest, id })
  })

  it.each<[what: string, text: string, waiting: JsonRpcId[]]>([
    ['with the number of an id that is a text', result('7'), ['7']],
    ['with another spelling of the number', result('"7.0"'), [7]],
    ['with a text that is no number', result('""'), [0]],
    ['that is an error without an id while two wait', error('"id":null,'), [7, 8]],
    ['that is an error without an id while none waits', error('"id":null,'), []],
    ['that is a result without an id', '{"jsonrpc":"2.0","id":null,"result":{}}', [7]],
    ['that is not JSON', '{"error":{"code":1,"message":"m"}', [7]],
    ['whose error has no code', '{"jsonrpc":"2.0","id":null,"error":{"message":"m"}}', [7]],
  ])('%s is left as it is', (_what, text, waiting) => {
    expect(addressedTo(text, ...waiting)).toEqual(readMessage(Buffer.from(text)))
  })
})

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
