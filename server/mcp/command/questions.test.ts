import { beforeEach, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage, JsonRpcResponse } from '@drawbridge/shared/mcp/json-rpc.ts'
import { type AskedSession, Questions } from './questions.ts'

let got: [message: JsonRpcMessage, relatedTo: unknown][]
let questions: Questions
let answers: JsonRpcResponse[]
beforeEach(() => {
  got = []
  questions = new Questions()
  answers = []
})

const sessionWith = (declared: JsonObject): AskedSession => ({
  client: { send: async (message, relatedTo) => void got.push([message, relatedTo]) },
  declared,
  relatedTo: 7,
})
const ask = (
  id: string | number = 'a',
  session: AskedSession | undefined = sessionWith({ roots: {} }),
): void =>
  questions.ask(
    { jsonrpc: '2.0', id, method: 'roots/list' },
    session,
    (response) => void answers.push(response),
  )
const resultFor = (id: string | number, of: string): JsonRpcResponse => ({
  jsonrpc: '2.0',
  id,
  result: { of },
})

it('questions have ids of their own, and are answered by those of their process', () => {
  ask('a')
  ask(1)
  expect(got).toMatchObject([
    [{ id: 'drawbridge-1', method: 'roots/list' }, 7],
    [{ id: 'drawbridge-2' }, 7],
  ])
  expect(questions.answer(resultFor('drawbridge-3', 'none'))).toBe(false)
  expect(questions.answer(resultFor('drawbridge-2', 'second'))).toBe(true)
  expect(questions.answer(resultFor('drawbridge-2', 'second again'))).toBe(false)
  expect(questions.answer(resultFor('drawbridge-1', 'first'))).toBe(true)
  expect(answers).toEqual([resultFor(1, 'second'), resultFor('a', 'first')])
})

it('a question that the process cancels is withdrawn from the client, whose late answer is dropped', () => {
  ask()
  questions.cancel('a')
  questions.cancel('b')
  expect(got).toMatchObject([
    [{ id: 'drawbridge-1' }, 7],
    [{ method: 'notifications/cancelled', params: { requestId: 'drawbridge-1' } }, 7],
  ])
  expect(questions.answer(resultFor('drawbridge-1', 'late'))).toBe(false)
  expect(answers).toEqual([])
})

it('of two questions with one id from their process the later one is cancelled', () => {
  ask()
  ask()
  questions.cancel('a')
  expect(got.at(-1)).toMatchObject([{ params: { requestId: 'drawbridge-2' } }, 7])
  expect(questions.answer(resultFor('drawbridge-1', 'client'))).toBe(true)
})

it.each<[what: string, session: AskedSession | undefined, method: string, reason: string]>([
  ['without a session', undefined, 'roots/list', 'this process serves no session that can be asked'],
  [
    'whose session has declared something else',
    sessionWith({ sampling: {} }),
    'roots/list',
    'the client has not declared it at initialize',
  ],
  [
    'whose session has declared nothing',
    sessionWith({}),
    'roots/list',
    'the client has not declared it at initialize',
  ],
  [
    'that asks what no client can be asked',
    sessionWith({ roots: {} }),
    'tools/list',
    'the client has not declared it at initialize',
  ],
])('a process %s is refused with the reason', (_what, session, method, reason) => {
  questions.ask({ jsonrpc: '2.0', id: 'a', method }, session, (response) => void answers.push(response))
  expect(got).toEqual([])
  const message = `${method} is not possible: ${reason}.`
  expect(answers).toEqual([{ jsonrpc: '2.0', id: 'a', error: { code: -32_601, message } }])
})
