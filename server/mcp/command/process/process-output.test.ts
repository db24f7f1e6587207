import { describe, expect, it } from 'vitest'
import { answeredIds, readOutput, unreadable } from './process-output.ts'

describe('a line of a process', () => {
  it.each([
    'Welcome!',
    '7',
    'null',
    '"text"',
    '[]',
    '{}',
    '{"jsonrpc":"2.0","id":7,"method":7}',
    '{"jsonrpc":"2.0","method":"x","params":[]}',
    '{"method":"GET","path":"/"}',
    '{"level":"error","error":"It broke.","message":"x"}',
    '{"result":{"of":"a log"}}',
    '{"id":7,"message":"of a log"}',
    '{"jsonrpc":"1.0","id":7}',
    '{"jsonrpc":"2.0","id":7,"method":"x",',
    '{"id":7,"name":"of a log",',
  ])('the line %s is no message and no answer', (line) => {
    expect(readOutput(line)).toEqual([{ message: undefined, isFaulty: true }])
  })

  it.each([
    '{"jsonrpc":"2.0","method":"notifications/x"}',
    '{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1.0}}',
    '{"jsonrpc":"2.0","id":"a","method":"roots/list"}',
    '{"jsonrpc":"2.0","id":9007199254740993,"method":"roots/list"}',
    '{"jsonrpc":"2.0","id":7,"result":{"a":[]}}',
    '{"jsonrpc":"2.0","id":7,"error":{"code":-5,"message":"No."}}',
  ])('the line %s is read unchanged', (line) => {
    const [read, ...others] = readOutput(line)
    expect(others).toEqual([])
    expect(read?.isFaulty).toBe(false)
    expect(JSON.stringify(read?.message)).toBe(line)
  })

  it.each(['{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":null}', '{"jsonrpc":"2.0","Id":7,"Result":{}}'])(
    'the line %s is an answer that names no request',
    (line) => {
      expect(readOutput(line)).toMatchObject([{ message: { id: null, error: {} }, isFaulty: true }])
    },
  )

  it.each<[line: string, message: object]>([
    ['{"jsonrpc":"2.0","id":"a","method":"x","params":null}', { id: 'a', method: 'x' }],
    ['{"jsonrpc":"2.0","id":7,"result":{},"error":null}', { id: 7, result: {} }],
    ['{"jsonrpc":"2.0","id":7,"result":{},"method":"x"}', { id: 7, result: {} }],
    ['{"id":7,"result":{}}', { id: 7, result: {} }],
    ['{"jsonrpc":"2.0","id":"7","result":{}}', { id: 7, result: {} }],
    ['{"jsonrpc":"2.0","id":7.0,"result":{}}', { id: 7, result: {} }],
    [
      '{"id":7,"result":null,"error":{"code":"-5","message":"No."}}',
      { id: 7, error: { code: -5, message: 'No.' } },
    ],
    [
      '{"id":7,"error":{"code":-5.0,"message":"No.","data":1}}',
      { id: 7, error: { code: -5, message: 'No.', data: 1 } },
    ],
    [
      '{"id":7,"error":{"code":9007199254740993,"message":"No."}}',
      { id: 7, error: { code: -32_603, message: 'No.' } },
    ],
    ['{"id":7,"error":{"code":1.5,"message":"No."}}', { id: 7, error: { code: -32_603, message: 'No.' } }],
    ['{"id":7,"error":{"code":"E5","message":"No."}}', { id: 7, error: { code: -32_603, message: 'No.' } }],
    ['{"id":7,"error":"No."}', { id: 7, error: { code: -32_603, message: 'No.' } }],
    [
      '{"id":7,"error":{"message":7}}',
      { id: 7, error: { code: -32_603, message: 'The server reported an error without a message.' } },
    ],
    ['{"jsonrpc":"2.0","id":7,"result":[]}', { id: 7, error: unreadable }],
    ['{"jsonrpc":"2.0","id":"a7","result":{}}', { id: null, error: unreadable }],
    ['{"jsonrpc":"2.0","id":"7a","result":{}}', { id: null, error: unreadable }],
  ])('the line %s is read as it is meant', (line, message) => {
    const [read, ...others] = readOutput(line)
    expect(others).toEqual([])
    expect(JSON.parse(JSON.stringify(read?.message))).toEqual({ jsonrpc: '2.0', ...message })
  })

  it.each<[what: string, line: string, ids: number[]]>([
    ['ends too early', '{"jsonrpc":"2.0","id":7,"result":{', [7]],
    ['has two answers', '{"id":7,"result":{}}{"id":8,"result":{}}', [7, 8]],
    ['is nested too deeply', `{"id":7,"result":{"a":${'['.repeat(999)}${']'.repeat(999)}}}`, [7]],
  ])('a line that %s fails the requests it names, as a guess', (_what, line, ids) => {
    expect(readOutput(line)).toEqual(
      ids.map((id) => ({
        message: { jsonrpc: '2.0', id, error: unreadable },
        isFaulty: true,
        isGuess: true,
      })),
    )
  })

  it('a line that is nested a thousand levels deep is read', () => {
    const line = `{"id":7,"result":{"a":${'['.repeat(998)}${']'.repeat(998)}}}`
    expect(readOutput(line)).toMatchObject([{ message: { id: 7, result: {} }, isFaulty: false }])
  })

  it('a line that has batches in a batch has their messages', () => {
    const answer = '{"jsonrpc":"2.0","id":7,"result":{}}'
    expect(readOutput(`[[${answer}],[[${answer}]]]`)).toMatchObject([
      { message: { id: 7 } },
      { message: { id: 7 } },
    ])
  })

  it('a line that ends a call with an error of ours, or has an error that is no object, is logged', () => {
    const faults = ['"result":null', '"error":"No."', '"error":{}', '"result":{}'].map(
      (answer) => readOutput(`{"jsonrpc":"2.0","id":7,${answer}}`)[0]?.isFaulty,
    )
    expect(faults).toEqual([true, true, false, false])
  })
})

describe('the requests that a line names, by its first and last characters, are', () => {
  it.each<[ids: (number | null)[], head: string, tail: string]>([
    [[7], '{"jsonrpc":"2.0","id":7,"result":{"x', ''],
    [[7], '{"jsonrpc":"2.0","id":"7","result":{"x', ''],
    [[7], ' { "jsonrpc" : "2.0" , "id" : 7 , "error" : {', ''],
    [[7], '{"id":7,"jsonrpc":"2.0","result":{', ''],
    [[7], '{"id":7,"error":{', ''],
    [[7], '{"jsonrpc":"2.0","result":{', '}},"id":7}'],
    [[7], '{"result":{', '}},"id":7,"jsonrpc":"2.0"} '],
    [[71], 'Loading {"jsonrpc":"2.0","id":71,', ''],
    [[7, 8], '{"jsonrpc":"2.0","id":7,"result":{}} {"jsonrpc":"2.0","id":8,"result":{}}', ''],
    [[], '{"jsonrpc":"2.0","id":7,"method":"x"', ''],
    [[], '{"jsonrpc":"2.0","id":71,"method":"x"', ''],
    [[], '{"jsonrpc":"2.0","id":"7","method":"x"', ''],
    [[], '{"jsonrpc":"2.0","method":"x","params":{', '},"id":7}'],
    [[null], '{"jsonrpc":"2.0","id":"a7","result":{', ''],
    [[7], "{'jsonrpc': '2.0', 'id': 7, 'result': {'a': None}}", ''],
    [[7], '{"jsonrpc":"2.0","id":7,"result":{'.replaceAll(/./g, '$&\0'), ''],
    [[null], '  "jsonrpc": "2.0",', ''],
    [[null], '{"jsonrpc":"2.0","method":null,"id":7,"result":{', ''],
    [[null], '{"jsonrpc":"2.0","id":7.5,"result":{"method":"x",', ''],
    [[], '{"jsonrpc":"2.0","params":{},"method":"x",', ''],
    [[], '{"a":{"jsonrpc":"2.0","id":7,"result":{', ''],
    [[null], '{"jsonrpc":"2.0","result":{"text":"', '\\"id\\":7}'],
    [[], '{"id":7,"name":"x"', ''],
  ])(
    'the requests %j are those that a line names which begins with %s and ends with %s',
    (ids, head, tail) => {
      expect(answeredIds(head, tail)).toEqual(ids)
    },
  )
})
