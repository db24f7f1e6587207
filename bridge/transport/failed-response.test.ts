import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { NetworkError, type HttpResponse } from '../http/http-client.ts'
import {
  absenceOf,
  errorResponse,
  isSuccess,
  isTokenRefusal,
  readRefusedPost,
  refusedPostError,
  wallOf,
} from './failed-response.ts'
import { isCutOff, lostError, TransportError } from './transport.ts'

const url = 'https://mcp.example/mcp'
const call = toWireMessage({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: {} })

function response(
  status: number,
  headers: HttpResponse['headers'] = {},
  body: Readable | string = '',
): HttpResponse {
  return { url, status, headers, body: typeof body === 'string' ? Readable.from([Buffer.from(body)]) : body }
}

const failing = (error: Error): Readable =>
  new Readable({
    read() {
      this.destroy(error)
    },
  })
const network = (fault: 'reset' | 'aborted'): NetworkError =>
  new NetworkError(fault, 'https://mcp.example', fault, { sent: true })

describe('the body of a refusal', () => {
  const error = { code: -32_000, message: 'no' }
  const read = async (body: unknown, message: WireMessage = call) => {
    const {
      status,
      answer,
      error: said,
    } = await readRefusedPost(response(400, {}, JSON.stringify(body)), message)
    expect(status).toBe(400)
    return [answer, said].map((each) => each && (JSON.parse(each.text) as unknown))
  }
  const ours = { jsonrpc: '2.0', id: 7, error }

  it.each<[what: string, body: unknown, answer: unknown, said: unknown]>([
    ['the error for the request is its answer', ours, ours, ours],
    ['an error under no id is its answer', { jsonrpc: '2.0', id: null, error }, ours, ours],
    ['an error under another id is told, and no answer', { jsonrpc: '2.0', id: 9, error }, undefined, ours],
    ['a result is nothing that a refusal says', { jsonrpc: '2.0', id: 7, result: {} }, undefined, undefined],
    ['an object of another kind says nothing', { error: 'invalid_token' }, undefined, undefined],
    ['a list says nothing', [1], undefined, undefined],
  ])('in the body of a refusal %s', async (_what, body, answer, said) => {
    expect(await read(body)).toEqual([answer, said])
  })

  it('the body of a refused notification is not a response', async () => {
    const note = toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect(await read({ jsonrpc: '2.0', id: null, error }, note)).toEqual([undefined, undefined])
  })

  it.each([
    ['breaks off', failing(network('reset'))],
    ['is larger than a megabyte', Readable.from(Array.from({ length: 17 }, () => Buffer.alloc(65_536, 'x')))],
  ])('the body of a refusal that %s counts as empty', async (_what, body) => {
    expect(await readRefusedPost(response(500, {}, body), call)).toMatchObject({ status: 500, text: '' })
  })

  it('reading the body ends with its caller and hides no other fault', async () => {
    const aborted = readRefusedPost(response(500, {}, failing(network('aborted'))), call)
    await expect(aborted).rejects.toMatchObject({ fault: 'aborted' })
    const broken = readRefusedPost(response(500, {}, failing(new RangeError('a bug'))), call)
    await expect(broken).rejects.toThrow('a bug')
  })
})

it.each([
  [400, false, 'refused'],
  [403, false, 'forbidden'],
  [403, true, 'forbidden'],
  [404, false, 'not_found'],
  [404, true, 'refused'],
  [405, false, 'not_found'],
  [410, false, 'not_found'],
  [411, false, 'refused'],
  [413, true, 'too_large'],
  [499, false, 'refused'],
  [500, true, 'unavailable'],
  [501, false, 'unavailable'],
] as const)('a refusal with %i, and an error in its body: %s, is %s', (status, hasError, fault) => {
  const error = hasError ? call : undefined
  const refused = refusedPostError({ status, error })
  expect(refused).toMatchObject({ name: 'TransportError', fault, status, response: error })
})

describe('a response that is not of the server itself', () => {
  it.each<[status: number, headers: HttpResponse['headers'], fault: string | undefined]>([
    [403, { 'cf-mitigated': 'challenge' }, 'blocked'],
    [202, { 'x-amzn-waf-action': 'challenge' }, 'blocked'],
    [403, { 'content-type': 'text/html; charset=utf-8' }, 'blocked'],
    [403, { 'content-type': 'application/json' }, undefined],
    [403, {}, undefined],
    [404, { 'content-type': 'text/html' }, undefined],
    [429, {}, 'rate_limited'],
    [500, {}, undefined],
    [502, {}, 'unavailable'],
    [503, {}, 'unavailable'],
    [504, {}, 'unavailable'],
    [505, {}, undefined],
    [200, {}, undefined],
    [299, {}, undefined],
    [300, {}, 'refused'],
    [304, {}, undefined],
    [399, {}, 'refused'],
    [400, {}, undefined],
  ])('the response %i %j is %s', (status, headers, fault) => {
    expect(absenceOf(response(status, headers), url, 0)?.fault).toBe(fault)
    expect(wallOf(response(status, headers))?.fault).toBe(fault === 'blocked' ? fault : undefined)
  })

  it('a browser challenge is described in a sentence', () => {
    const text = wallOf(response(403, { 'cf-mitigated': 'challenge' }))?.message
    expect(text).toMatch(/^Something in front of the server.*\(HTTP 403\)\.$/)
  })

  it.each(['rate_limited', 'unavailable'] as const)(
    'an error %s tells when to try again, if the server does',
    (fault) => {
      const status = fault === 'rate_limited' ? 429 : 503
      const soon = absenceOf(response(status, { 'retry-after': '11' }), url, 0)
      expect(soon).toMatchObject({ fault, status, retryAfterSeconds: 11 })
      expect(absenceOf(response(status), url, 0)?.retryAfterSeconds).toBeUndefined()
    },
  )

  it('a redirect to the endpoint itself gives no advice', () => {
    const message = absenceOf(response(307, { location: `${url}#x` }), url, 0)?.message
    expect(message).toMatch(/has moved to https:\S+\.$/)
  })

  it.each([
    ['/elsewhere?code=secret#x', 'https://mcp.example/elsewhere.'],
    ['http://other.example:81/a', 'http://other.example:81/a.'],
    ['javascript:alert(1)', 'another address.'],
    ['http://[', 'another address.'],
    [undefined, 'another address.'],
    [`/${'x'.repeat(400)}`, `https://mcp.example/${'x'.repeat(280)}.`],
  ])('a redirect to %j names its target without what may be secret', (location, where) => {
    const moved = absenceOf(response(307, { location }), url, 0)
    const advice = where.startsWith('http')
      ? ' If that is the endpoint, and no page to sign in at, give it as the URL.'
      : ''
    expect(moved?.message).toBe(`The server says that the endpoint has moved to ${where}${advice}`)
    expect(moved).toMatchObject({ fault: 'refused', status: 307 })
  })
})

it.each<[status: number, headers: HttpResponse['headers'], success: boolean, token: boolean]>([
  [200, {}, true, false],
  [202, { 'x-vercel-mitigated': 'challenge' }, false, false],
  [299, {}, true, false],
  [300, {}, false, false],
  [401, {}, false, true],
  [403, {}, false, false],
  [403, { 'www-authenticate': 'Bearer error="insufficient_scope"' }, false, true],
  [403, { 'www-authenticate': ['Basic', 'Bearer error="insufficient_scope"'] }, false, true],
  [403, { 'www-authenticate': 'Bearer error="invalid_token"' }, false, false],
  [400, { 'www-authenticate': 'Bearer error="insufficient_scope"' }, false, false],
])('the token was taken after %i %j: %s; wants another token: %s', (status, headers, success, token) => {
  expect([isSuccess(response(status, headers)), isTokenRefusal(response(status, headers))]).toEqual([
    success,
    token,
  ])
})

it.each([
  [network('reset'), true],
  [network('aborted'), false],
  [lostError(), true],
  [new TransportError('unavailable', 'no'), false],
  [new Error('lost'), false],
])('the failure %s is an answer that broke off: %s', (error, expected) => {
  expect(isCutOff(error)).toBe(expected)
})

const errorBody = { jsonrpc: '2.0', id: null, error: { code: -32_602, message: 'body' } }
const bodyOf = (message: unknown) => ({
  response: {
    text: JSON.stringify(message),
    envelope: { kind: 'invalid', id: null, reason: '' },
  } as const,
})

it.each(['refused', 'not_found'] as const)(
  'errorResponse reads the JSON-RPC error in the body of a failure: %s',
  (fault) => {
    expect(errorResponse(new TransportError(fault, 'HTTP 4xx', bodyOf(errorBody)))).toEqual(errorBody)
  },
)

it.each([
  ['a sign-in that is needed', new TransportError('sign_in_needed', 'Sign in', bodyOf(errorBody))],
  ['no body', new TransportError('refused', 'HTTP 400')],
  [
    'a body with a result',
    new TransportError('refused', 'HTTP 400', bodyOf({ jsonrpc: '2.0', id: 1, result: {} })),
  ],
  ['another failure', new Error('cut')],
])('errorResponse finds no error in %s', (_, failure) => {
  expect(errorResponse(failure)).toBeUndefined()
})
