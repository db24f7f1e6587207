import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import { jsonRpcCode, jsonRpcError, parseJsonRpcMessage } from './json-rpc.ts'

const parseText = (text: string): ReturnType<typeof parseJsonRpcMessage> =>
  parseJsonRpcMessage(JSON.parse(text))

describe('valid messages (JSON-RPC 2.0 sections 4 and 5)', () => {
  test.each<[string, unknown, string]>([
    ['a request', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, 'request'],
    ['a request with a string id', { jsonrpc: '2.0', id: 'a', method: 'x', params: {} }, 'request'],
    ['the empty id is an id', { jsonrpc: '2.0', id: '', method: 'x' }, 'request'],
    ['zero is an id', { jsonrpc: '2.0', id: 0, method: 'x' }, 'request'],
    ['a fractional id is echoed too', { jsonrpc: '2.0', id: 1.5, method: 'x' }, 'request'],
    ['an empty method is the dispatcher’s to refuse', { jsonrpc: '2.0', id: 1, method: '' }, 'request'],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, 'notification'],
    ['a notification with params', { jsonrpc: '2.0', method: 'x', params: { a: [1] } }, 'notification'],
    ['a result', { jsonrpc: '2.0', id: 1, result: {} }, 'response'],
    ['a null result', { jsonrpc: '2.0', id: 1, result: null }, 'response'],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'no' } }, 'response'],
    ['an error with data', { jsonrpc: '2.0', id: 1, error: { code: 1, message: '', data: [] } }, 'response'],
    ['an error with id null', { jsonrpc: '2.0', id: null, error: { code: 1, message: '' } }, 'response'],
    ['an error without id', { jsonrpc: '2.0', error: { code: 1, message: '' } }, 'response'],
    ['unknown members', { jsonrpc: '2.0', id: 1, method: 'x', extra: true }, 'request'],
  ])('%s', (_rule, value, kind) => {
    const parsed = parseJsonRpcMessage(value)
    expect(parsed.kind).toBe(kind)
    // The very same object, so that a proxy forwards what it was given.
    expect(parsed.kind !== 'invalid' && parsed.message).toBe(value)
  })
})

describe('invalid messages', () => {
  test.each<[string, unknown, string | number | null, RegExp]>([
    ['a batch (removed in MCP 2025-06-18)', [{ jsonrpc: '2.0', id: 1, method: 'x' }], null, /batch/],
    ['an empty batch', [], null, /batch/],
    ['null', null, null, /object/],
    ['a string', '{}', null, /object/],
    ['a number', 7, null, /object/],
    ['undefined', undefined, null, /object/],
    ['an empty object', {}, null, /jsonrpc/],
    ['no version', { id: 1, method: 'x' }, 1, /jsonrpc/],
    ['version 1.0', { jsonrpc: '1.0', id: 1, method: 'x' }, 1, /jsonrpc/],
    ['a numeric version', { jsonrpc: 2, id: 1, method: 'x' }, 1, /jsonrpc/],
    ['nothing but an id', { jsonrpc: '2.0', id: 1 }, 1, /expected/],
    [
      'result and error',
      { jsonrpc: '2.0', id: 1, result: 1, error: { code: 1, message: '' } },
      1,
      /expected/,
    ],
    ['method and result', { jsonrpc: '2.0', id: 1, method: 'x', result: 1 }, 1, /neither/],
    ['method and error', { jsonrpc: '2.0', id: 1, method: 'x', error: {} }, 1, /neither/],
    ['a method that is not a string', { jsonrpc: '2.0', id: 'a', method: 1 }, 'a', /method/],
    ['a null method', { jsonrpc: '2.0', id: 'a', method: null }, 'a', /method/],
    ['positional params (MCP: an object)', { jsonrpc: '2.0', id: 1, method: 'x', params: [1] }, 1, /params/],
    ['null params', { jsonrpc: '2.0', id: 1, method: 'x', params: null }, 1, /params/],
    ['text params', { jsonrpc: '2.0', method: 'x', params: 'a' }, null, /params/],
    ['a null id (MCP: never)', { jsonrpc: '2.0', id: null, method: 'x' }, null, /id/],
    ['a boolean id', { jsonrpc: '2.0', id: true, method: 'x' }, null, /id/],
    ['an object id', { jsonrpc: '2.0', id: {}, method: 'x' }, null, /id/],
    ['an infinite id', { jsonrpc: '2.0', id: Infinity, method: 'x' }, null, /id/],
    ['a result without id', { jsonrpc: '2.0', result: {} }, null, /id/],
    ['a result with id null', { jsonrpc: '2.0', id: null, result: {} }, null, /id/],
    ['an error with a boolean id', { jsonrpc: '2.0', id: true, error: { code: 1, message: '' } }, null, /id/],
    ['an error that is text', { jsonrpc: '2.0', id: 1, error: 'no' }, 1, /code/],
    ['an error without code', { jsonrpc: '2.0', id: 1, error: { message: '' } }, 1, /code/],
    ['an error with a text code', { jsonrpc: '2.0', id: 1, error: { code: '1', message: '' } }, 1, /code/],
    [
      'an error with a fractional code',
      { jsonrpc: '2.0', id: 1, error: { code: 1.5, message: '' } },
      1,
      /code/,
    ],
    ['an error without message', { jsonrpc: '2.0', id: 1, error: { code: 1 } }, 1, /message/],
  ])('%s', (_rule, value, id, reason) => {
    const parsed = parseJsonRpcMessage(value)
    expect(parsed).toMatchObject({ kind: 'invalid', id })
    expect(parsed.kind === 'invalid' && parsed.reason).toMatch(reason)
  })

  test('members of a __proto__ member do not count', () => {
    expect(parseText('{"__proto__":{"jsonrpc":"2.0","id":1,"method":"x"}}').kind).toBe('invalid')
    expect(parseText('{"jsonrpc":"2.0","id":1,"__proto__":{"method":"x"}}').kind).toBe('invalid')
  })

  test('constructor and toString are not members of a message', () => {
    expect(parseText('{"constructor":{},"toString":1}').kind).toBe('invalid')
  })
})

it('never throws, and says invalid or returns a message that holds what its kind needs', () => {
  const member = fc.constantFrom<[string, unknown]>(
    ['jsonrpc', '2.0'],
    ['jsonrpc', '1.0'],
    ['id', 1],
    ['id', null],
    ['method', 'x'],
    ['method', 1],
    ['params', {}],
    ['params', []],
    ['result', {}],
    ['error', { code: 1, message: 'x' }],
    ['error', null],
  )
  fc.assert(
    fc.property(fc.array(member, { maxLength: 6 }), (members) => {
      const value = Object.fromEntries([['jsonrpc', '2.0'], ...members])
      const parsed = parseJsonRpcMessage(value)
      if (parsed.kind === 'request') expect(parsed.message).toMatchObject({ id: 1, method: 'x' })
      if (parsed.kind === 'notification') expect('id' in parsed.message).toBe(false)
      if (parsed.kind === 'response') expect('result' in value || 'error' in value).toBe(true)
      if (parsed.kind === 'invalid') expect(parsed.reason).not.toBe('')
    }),
    { numRuns: 1000 },
  )
})

describe('jsonRpcError', () => {
  test('the codes of JSON-RPC 2.0 section 5.1', () => {
    expect(jsonRpcCode).toEqual({
      parseError: -32_700,
      invalidRequest: -32_600,
      methodNotFound: -32_601,
      invalidParams: -32_602,
      internalError: -32_603,
    })
  })

  test.each([
    ['without data', undefined, { code: -32_700, message: 'no JSON' }],
    ['with data', { a: 1 }, { code: -32_700, message: 'no JSON', data: { a: 1 } }],
    ['null is data', null, { code: -32_700, message: 'no JSON', data: null }],
  ])('%s', (_rule, data, error) => {
    const answer = jsonRpcError(null, jsonRpcCode.parseError, 'no JSON', data)
    expect(answer).toStrictEqual({ jsonrpc: '2.0', id: null, error })
    expect(parseJsonRpcMessage(answer).kind).toBe('response')
  })

  it('echoes the id of an invalid message', () => {
    const parsed = parseJsonRpcMessage({ jsonrpc: '2.0', id: 'a', method: 1 })
    const id = parsed.kind === 'invalid' ? parsed.id : null
    expect(jsonRpcError(id, jsonRpcCode.invalidRequest, 'x').id).toBe('a')
  })
})
