import { describe, expect, it } from 'vitest'
import { TransportError } from '../transport/transport.ts'
import { errorResponse } from './adapted-connection.ts'

const error = { jsonrpc: '2.0', id: null, error: { code: -32_602, message: 'body' } }
const bodyOf = (message: unknown) => ({
  response: {
    text: JSON.stringify(message),
    envelope: { kind: 'invalid', id: undefined, reason: '' },
  } as const,
})

describe('the JSON-RPC error of a refusal', () => {
  it.each(['refused', 'not_found'] as const)('is read from its body: %s', (fault) => {
    expect(errorResponse(new TransportError(fault, 'HTTP 4xx', bodyOf(error)))).toEqual(error)
  })

  it.each([
    ['a sign-in that is needed', new TransportError('sign_in_needed', 'Sign in', bodyOf(error))],
    ['no body', new TransportError('refused', 'HTTP 400')],
    [
      'a body with a result',
      new TransportError('refused', 'HTTP 400', bodyOf({ jsonrpc: '2.0', id: 1, result: {} })),
    ],
    ['another failure', new Error('cut')],
  ])('is not found in %s', (_, failure) => {
    expect(errorResponse(failure)).toBeUndefined()
  })
})
