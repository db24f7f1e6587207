import { beforeEach, describe, expect, it } from 'vitest'
import { readMessageText, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { PendingResponses } from './session.ts'
import { readAnswer } from './streamable-http.ts'

describe('a large answer', () => {
  const fill = (item: string, count: number): string => Array.from({ length: count }, () => item).join(',')

  it.each<[what: string, text: string]>([
    ['of empty objects', `[${fill('{}', 2_000_001)}]`],
    ['of empty arrays within each other', `[${fill('[[[[]]]]', 500_001)}]`],
    ['of members', `{"jsonrpc":"2.0","id":1,"result":{${fill('"a":1', 2_000_000)}}}`],
  ])('a large answer %s is refused before it is parsed', (_what, text) => {
    expect(() => readAnswer(Buffer.from(text))).toThrow('more than 2,000,000 values')
  })

  it('a response with one long text full of brackets is read, whatever its length', () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"a":"${'{\\"[:'.repeat(2_000_000)}"}}`
    expect(readAnswer(Buffer.from(text))).toMatchObject({ envelope: { kind: 'response' }, text })
  })

  const long = 'a'.repeat(4_000_001)

  it.each([
    ['of a call', `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"${long}"}]}}`],
    ['with characters of several bytes', `{"result":{"ü":"${long}€"},"id":1,"jsonrpc":"2.0"}`],
    ['that is an error', `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"${long}"}}`],
  ])('a large result %s is passed on as it came', (_what, text) => {
    const bytes = Buffer.from(text)
    const answer = readAnswer(bytes)
    expect(answer.envelope).toEqual({ kind: 'response', id: 1, isError: text.includes('"error"') })
    expect(answer.bytes).toBe(bytes)
    expect(answer.text === text).toBe(true)
  })

  it.each<[what: string, bytes: string | Buffer, kind: string]>([
    ['an id of several bytes', `{"jsonrpc":"2.0","id":"ü","result":{"a":"${long}"}}`, 'response'],
    [
      'what only lenient parsers take',
      `{"jsonrpc":"2.0","id":1,"result":{"a":"${long}","b":NaN}}`,
      'invalid',
    ],
    ['a notification', `{"jsonrpc":"2.0","method":"a","params":{"a":"${long}"}}`, 'notification'],
    ['a batch', `[{"jsonrpc":"2.0","id":1,"result":{"a":"${long}"}}]`, 'batch'],
    ['a result and an error', `{"jsonrpc":"2.0","id":1,"result":{"a":"${long}"},"error":{}}`, 'invalid'],
    ['a result without an id', `{"jsonrpc":"2.0","result":{"a":"${long}"}}`, 'invalid'],
    ['a result that is cut off', `{"jsonrpc":"2.0","id":1,"result":{"a":"${long}"}`, 'invalid'],
    [
      'with half a character',
      Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"${long}"}}\u00c3`, 'latin1'),
      'invalid',
    ],
    ['in Latin-1', Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"a":"${long}ü"}}`, 'latin1'), 'invalid'],
  ])('a large message is parsed whole: %s', (_what, bytes, kind) => {
    const answer = readAnswer(Buffer.from(bytes as string))
    expect(answer.envelope.kind).toBe(kind)
    expect(answer.bytes).toBeUndefined()
  })

  it.each(['\n', '\r', '\r\n'])('a large result with the line end %j becomes one line', (end) => {
    const text = `{${end}"jsonrpc":"2.0","id":1,"result":{"a":"${long}"}}${end}`
    const answer = readAnswer(Buffer.from(text))
    expect(answer.envelope).toEqual({ kind: 'response', id: 1, isError: false })
    expect(answer.bytes).toBeUndefined()
    expect(/[\r\n]/.test(answer.text)).toBe(false)
  })

  it('a large result loses its byte order mark', () => {
    const answer = readAnswer(Buffer.from(`\uFEFF{"jsonrpc":"2.0","id":1,"result":{"a":"${long}"}}`))
    expect(answer.envelope).toEqual({ kind: 'response', id: 1, isError: false })
    expect(Buffer.from(answer.bytes ?? answer.text)[0]).toBe('{'.charCodeAt(0))
  })
})

describe('requests whose responses come elsewhere', () => {
  const response = (id: number | string, of: unknown = {}): WireMessage =>
    toWireMessage({ jsonrpc: '2.0', id, result: { of } })

  it('each waiting request gets the response with its id, once', async () => {
    const pending = new PendingResponses()
    const got: string[] = []
    const { answered: first } = pending.expect(1, ({ text }) => void got.push(text))
    const { answered: second } = pending.expect('1', ({ text }) => void got.push(text))
    expect(await pending.take(response(2))).toBe(false)
    expect(await pending.take(toWireMessage({ jsonrpc: '2.0', method: 'notifications/message' }))).toBe(false)
    expect(await pending.take(response('1', 'text'))).toBe(true)
    await second
    expect(await pending.take(response(1, 'number'))).toBe(true)
    await first
    expect(await pending.take(response(1))).toBe(false)
    expect(got).toEqual([response('1', 'text').text, response(1, 'number').text])
  })

  it('a waiting request takes its id as text', async () => {
    const pending = new PendingResponses()
    const got: WireMessage[] = []
    const { answered: waiting } = pending.expect(7, (message) => void got.push(message))
    expect(await pending.take(response('7'))).toBe(true)
    await waiting
    expect(got.map(({ text }) => JSON.parse(text) as unknown)).toEqual([
      { jsonrpc: '2.0', id: 7, result: { of: {} } },
    ])
  })

  describe('take an error without an id', () => {
    const error = { code: -32_000, message: 'No.' }
    const unnamed = readMessageText(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
    const got: unknown[] = []
    const take = ({ text }: WireMessage): void => void got.push(JSON.parse(text))
    beforeEach(() => void got.splice(0))

    it('an error without an id is taken for the only request that waits', async () => {
      const pending = new PendingResponses()
      const { answered } = pending.expect(1, take)
      expect(await pending.take(unnamed)).toBe(true)
      await answered
      expect(got).toEqual([{ jsonrpc: '2.0', id: 1, error }])
    })

    it('an error without an id is not taken while two requests wait, nor is another message', async () => {
      const pending = new PendingResponses()
      pending.expect(1, take)
      expect(await pending.take(readMessageText('{"jsonrpc":"2.0","id":null,"result":{}}'))).toBe(false)
      pending.expect(2, take)
      expect(await pending.take(unnamed)).toBe(false)
      expect(got).toEqual([])
    })
  })

  it('a waiting request ends when forgotten, and fails with the stream or its delivery', async () => {
    const pending = new PendingResponses()
    const never = (): void => {
      throw new Error('nobody reads this')
    }
    const forgotten = pending.expect(1, never)
    forgotten.forget()
    expect(await pending.take(response(1))).toBe(false)
    const { answered: undelivered } = pending.expect(2, never)
    expect(await pending.take(response(2))).toBe(true)
    await expect(undelivered).rejects.toThrow('nobody reads this')
    const { answered: lost } = pending.expect(3, never)
    pending.fail(new Error('The stream has ended.'))
    await expect(lost).rejects.toThrow('The stream has ended.')
    expect(await pending.take(response(3))).toBe(false)
  })

  it('a request that is forgotten does not end one of the same id that was sent after it', async () => {
    const pending = new PendingResponses()
    const got: string[] = []
    const first = pending.expect(1, () => void got.push('first'))
    const second = pending.expect(1, () => void got.push('second'))
    first.forget()
    expect(await pending.take(response(1))).toBe(true)
    await second.answered
    expect(got).toEqual(['second'])
  })
})
