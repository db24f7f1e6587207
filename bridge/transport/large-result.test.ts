import { describe, expect, it } from 'vitest'
import { readMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { readAnswer } from './streamable-http.ts'

const large = 'x'.repeat(300_000)
const read = (text: string) => readAnswer(Buffer.from(text))

describe('a large answer', () => {
  it.each([
    { is: 'a result', text: `{"jsonrpc":"2.0","id":1,"result":{"a":[{"b":"${large}"}]}}` },
    { is: 'a result of its own kind', text: `{"id":"ä","result":"${large}","jsonrpc":"2.0"}` },
    { is: 'a result of brackets in strings', text: `{"jsonrpc":"2.0","id":1,"result":["]}\\"${large}{"]}` },
    { is: 'an error', text: `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"${large}"}}` },
    { is: 'a request', text: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"${large}"}}` },
    { is: 'a notification', text: `{"jsonrpc":"2.0","method":"m","params":{"a":"${large}"}}` },
    { is: 'a batch', text: `[{"jsonrpc":"2.0","id":1,"result":{"a":"${large}"}}]` },
  ])('that is $is is read as any other', ({ text }) => {
    const { envelope, text: passed } = read(text)
    expect(envelope).toEqual(readMessage(Buffer.from(text)).envelope)
    expect(envelope.kind).not.toBe('invalid')
    expect(passed).toBe(text)
  })

  it('is passed on as the bytes that came', () => {
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"ä${large}"}}`)
    expect(readAnswer(bytes).bytes).toBe(bytes)
  })

  it.each(['\n', '\r\n', '\r'])('is one line, wherever it has %j', (lineBreak) => {
    const text = `{${lineBreak}"jsonrpc":"2.0","id":1,"result":${lineBreak}{"a":"b${lineBreak}${large}"}}${lineBreak}`
    const answer = read(text)
    expect(answer.envelope).toEqual({ kind: 'response', id: 1, isError: false })
    expect(Buffer.from(answer.bytes ?? []).toString()).toBe(text.replaceAll(/[\r\n]/g, ' '))
  })

  it.each([
    {
      is: 'not UTF-8',
      bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"\xff${large}"}}`, 'latin1'),
    },
    { is: 'cut off', bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"${large}"}`) },
    { is: 'cut off in a string', bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"${large}`) },
    { is: 'closed twice', bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"${large}"}}}`) },
    { is: 'two messages', bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{}} {"a":"${large}"}`) },
    { is: 'without a version', bytes: Buffer.from(`{"id":1,"result":{"a":"${large}"}}`) },
    { is: 'without an id', bytes: Buffer.from(`{"jsonrpc":"2.0","result":{"a":"${large}"}}`) },
    {
      is: 'result and error',
      bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":["${large}"],"error":{}}`),
    },
    { is: 'a word after it', bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"${large}"}} or so`) },
    { is: 'a comma too many', bytes: Buffer.from(`{"jsonrpc":"2.0","id":1,,"result":{"a":"${large}"}}`) },
  ])('that is $is is invalid', ({ bytes }) => {
    expect(readAnswer(bytes)).toMatchObject({ envelope: { kind: 'invalid' } })
  })

  it('may have in its result what is not JSON: nobody here looks into it', () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"a":nonsense,"b":"${large}"}}`
    expect(read(text)).toMatchObject({ envelope: { kind: 'response' }, text })
  })
})
