import { expect, it } from 'vitest'
import { dropNulls } from './request-params.ts'

const call = (params: unknown): object => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })

it.each<[what: string, given: unknown, taken: unknown]>([
  ['parameters', { method: 'ping', params: null }, { method: 'ping' }],
  ['an id, which is no optional member', { id: null, method: 'ping' }, { id: null, method: 'ping' }],
  ['members of parameters', call({ name: 'x', task: null }), call({ name: 'x' })],
  [
    'members within',
    call({ _meta: { a: { b: null, c: [{ d: null }] } } }),
    call({ _meta: { a: { c: [{}] } } }),
  ],
  ['arguments as a whole', call({ arguments: null }), call({})],
  [
    'values in arguments of a tool',
    call({ arguments: { a: null, b: [null] } }),
    call({ arguments: { a: null, b: [null] } }),
  ],
  [
    'arguments of a prompt',
    { method: 'prompts/get', params: { arguments: { a: null, b: '' } } },
    { method: 'prompts/get', params: { arguments: { b: '' } } },
  ],
  [
    'members of a result',
    { id: 1, result: { roots: [{ uri: 'file:///', name: null }] } },
    { id: 1, result: { roots: [{ uri: 'file:///' }] } },
  ],
  [
    'what a person left out',
    { id: 1, result: { action: 'accept', content: { age: null } } },
    { id: 1, result: { action: 'accept', content: {} } },
  ],
  [
    'what a model gives to a tool',
    { id: 1, result: { content: [{ type: 'tool_use', input: { a: null } }] } },
    { id: 1, result: { content: [{ type: 'tool_use', input: { a: null } }] } },
  ],
  ['members of a batch', [call({ name: null })], [call({})]],
  ['nothing else', 'text', 'text'],
])('request parameters are read without null in %s', (_, given, taken) => {
  expect(dropNulls(given)).toEqual(taken)
  expect(JSON.stringify(dropNulls(given))).toBe(JSON.stringify(taken))
})
