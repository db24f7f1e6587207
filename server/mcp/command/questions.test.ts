import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { ClientPort } from '@drawbridge/shared/mcp/adapter/ports.ts'
import type { JsonRpcMessage, JsonRpcResponse } from '@drawbridge/shared/mcp/json-rpc.ts'
import { Questions } from './questions.ts'

/** A client that keeps what it gets. */
function createClient(): ClientPort & { got: [message: JsonRpcMessage, relatedTo: unknown][] } {
  const got: [JsonRpcMessage, unknown][] = []
  return { got, send: async (message, relatedTo) => void got.push([message, relatedTo]) }
}

let questions: Questions
let answers: JsonRpcResponse[]
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  questions = new Questions()
  answers = []
})
afterEach(() => vi.useRealTimers())

const ask = (asked: ClientPort, id = 'a'): void =>
  questions.ask(
    { jsonrpc: '2.0', id, method: 'roots/list' },
    { asked, relatedTo: 7, isShared: false, declared: { roots: {} } },
    (response) => void answers.push(response),
  )
const resultFor = (id: string, of: string): JsonRpcResponse => ({ jsonrpc: '2.0', id, result: { of } })

it('have ids of their own, and are answered by those of their process', () => {
  const [ada, bob] = [createClient(), createClient()]
  ask(ada)
  ask(bob)
  expect(ada.got).toMatchObject([[{ id: 'drawbridge-1', method: 'roots/list' }, 7]])
  expect(bob.got).toMatchObject([[{ id: 'drawbridge-2' }, 7]])
  expect(questions.answer(resultFor('drawbridge-1', 'bob'), bob)).toBe(false)
  expect(questions.answer(resultFor('drawbridge-2', 'bob'), bob)).toBe(true)
  expect(questions.answer(resultFor('drawbridge-2', 'bob again'), bob)).toBe(false)
  expect(answers).toEqual([resultFor('a', 'bob')])
})

it('that the process cancels are withdrawn from the client, whose answer is of no use then', () => {
  const client = createClient()
  ask(client)
  questions.cancel('a')
  questions.cancel('b')
  expect(client.got).toMatchObject([
    [{ id: 'drawbridge-1' }, 7],
    [{ method: 'notifications/cancelled', params: { requestId: 'drawbridge-1' } }, 7],
  ])
  expect(questions.answer(resultFor('drawbridge-1', 'late'), client)).toBe(false)
  expect(answers).toEqual([])
})

it('of a client that has left, or does not answer within ten minutes, get an error', () => {
  const [leaving, silent] = [createClient(), createClient()]
  ask(leaving)
  ask(silent, 'b')
  questions.leave(leaving)
  vi.advanceTimersByTime(600_000 - 1)
  expect(answers).toMatchObject([{ id: 'a', error: { message: 'The client did not answer.' } }])
  vi.advanceTimersByTime(1)
  expect(answers).toMatchObject([{ id: 'a' }, { id: 'b', error: { code: -32_603 } }])
  expect(silent.got).toMatchObject([
    [{}, 7],
    [{ method: 'notifications/cancelled' }, 7],
  ])
})

it.each<[what: string, terms: object, reason: string | undefined]>([
  ['a process of everybody', { isShared: true }, 'this process serves everybody and can ask nobody'],
  [
    'no client that can be asked',
    { asked: undefined },
    'no client of this process has declared at initialize that it can be asked',
  ],
  [
    'a session that has not declared it',
    { declared: { sampling: {} } },
    'the client has not declared it at initialize',
  ],
  [
    'a session that has declared nothing',
    { declared: undefined },
    'the client has not declared it at initialize',
  ],
  ['a session that has', {}, undefined],
])('%s is asked, or the process hears why not', (_what, terms, reason) => {
  const client = createClient()
  const usual = { asked: client, relatedTo: 7, isShared: false, declared: { roots: {} } }
  questions.ask(
    { jsonrpc: '2.0', id: 'a', method: 'roots/list' },
    { ...usual, ...terms },
    (response) => void answers.push(response),
  )
  expect(client.got).toHaveLength(reason === undefined ? 1 : 0)
  expect(answers).toEqual(
    reason === undefined
      ? []
      : [
          {
            jsonrpc: '2.0',
            id: 'a',
            error: { code: -32_601, message: `roots/list is not possible: ${reason}.` },
          },
        ],
  )
})

it('a client that leaves takes no question of another with it', () => {
  const [leaving, staying] = [createClient(), createClient()]
  ask(leaving)
  ask(staying, 'b')
  questions.leave(leaving)
  expect(questions.answer(resultFor('drawbridge-2', 'staying'), staying)).toBe(true)
  expect(
    questions.answer({ jsonrpc: '2.0', id: null, error: { code: 1, message: '' } } as never, staying),
  ).toBe(false)
  expect(answers.map(({ id }) => id)).toEqual(['a', 'b'])
  vi.advanceTimersByTime(600_000)
  expect(answers).toHaveLength(2)
})

it('of two with the same id from their process the later one is cancelled', () => {
  const client = createClient()
  ask(client)
  ask(client)
  questions.cancel('a')
  expect(client.got.at(-1)).toMatchObject([{ params: { requestId: 'drawbridge-2' } }, 7])
  expect(questions.answer(resultFor('drawbridge-1', 'client'), client)).toBe(true)
})
