import { expect, it } from 'vitest'
import { jsonRpcError, toWireMessage, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { NetworkError } from '../http/http-client.ts'
import {
  eraByDiscoverAnswer,
  eraByModernAnswer,
  eraByModernFailure,
  errorCode,
  mayBeModern,
  mayBeSseServer,
  supportedVersions,
} from './revision-detection.ts'
import { TransportError, type TransportFault } from './transport.ts'

function failure(fault: TransportFault, status: number, code?: number): TransportError {
  const response = code === undefined ? {} : { response: toWireMessage(jsonRpcError(1, code, 'x')) }
  return new TransportError(fault, 'x', { status, ...response })
}

const network = new NetworkError('reset', 'http://x', 'x', { sent: true })

// failure | era after a failed tools/list of 2026-07-28 | whether a failed initialize leads to server/discover | to a GET
it.each([
  ['401', failure('sign_in_needed', 401), undefined, false, false],
  ['401 with JSON-RPC', failure('sign_in_needed', 401, -32_600), undefined, false, false],
  ['403', failure('forbidden', 403), undefined, false, false],
  ['403 with JSON-RPC', failure('forbidden', 403, -32_000), undefined, false, false],
  ['429', failure('rate_limited', 429), undefined, false, false],
  ['500', failure('unavailable', 500), undefined, false, false],
  ['503', failure('unavailable', 503), undefined, false, false],
  ['no network', network, undefined, false, false],
  ['a lost answer', failure('lost', 200), undefined, false, false],
  ['a redirect', failure('refused', 301), undefined, false, false],
  ['404', failure('not_found', 404), 'legacy', true, true],
  ['405', failure('not_found', 405), 'legacy', true, true],
  ['400', failure('refused', 400), 'legacy', true, true],
  ['400 no session', failure('refused', 400, -32_000), 'legacy', true, true],
  ['406', failure('refused', 406), 'legacy', true, false],
  ['a web page', failure('no_mcp', 200), 'legacy', true, false],
  ['-32020', failure('refused', 400, -32_020), 'modern', true, false],
  ['-32021', failure('refused', 400, -32_021), 'modern', true, false],
  ['-32022', failure('refused', 400, -32_022), 'modern', true, false],
  ['-32602', failure('refused', 400, -32_602), 'modern', true, false],
  ['404 unknown method', failure('refused', 404, -32_601), 'modern', true, false],
] as const)(
  'a failed request of 2026-07-28 tells which revision to try: %s',
  (_, error, byModern, isWorthAsking, isWorthGet) => {
    expect(eraByModernFailure(error, 'tools/list')).toBe(byModern)
    expect(mayBeModern(error)).toBe(isWorthAsking)
    expect(mayBeSseServer(error)).toBe(isWorthGet)
  },
)

it.each([
  [401, false],
  [402, true],
  [403, false],
  [429, false],
  [499, true],
  [500, false],
  [503, false],
])('a JSON-RPC error with status %i is worth a server/discover: %s', (status, isWorthAsking) => {
  const refused = failure('refused', status, -32_000)
  expect(mayBeModern(refused)).toBe(isWorthAsking)
  expect(eraByModernFailure(refused, 'tools/list')).toBe(isWorthAsking ? 'legacy' : undefined)
})

it.each([[new Error('x')], [network], [undefined], [new TransportError('sign_in_needed', 'x')]])(
  'a failure without a response tells nothing of the revision: %s',
  (error) => {
    expect(mayBeModern(error)).toBe(false)
    expect(mayBeSseServer(error)).toBe(false)
    expect(eraByModernFailure(error, 'server/discover')).toBeUndefined()
  },
)

it('a server that does not know server/discover is a 2025 server', () => {
  expect(eraByModernFailure(failure('refused', 404, -32_601), 'server/discover')).toBe('legacy')
})

const result = (value: unknown): WireMessage =>
  toWireMessage({ jsonrpc: '2.0', id: 1, result: value as never })
const error = (code: number, data?: unknown, status?: number): WireMessage => ({
  ...toWireMessage(jsonRpcError(1, code, 'x', data)),
  ...(status !== undefined && { status }),
})
const discovery = { supportedVersions: ['2026-07-28'], capabilities: {} }

it.each<[what: string, answer: WireMessage, era: string]>([
  ['a discovery', result(discovery), 'modern'],
  ['a result of another kind', result({ tools: [] }), 'legacy'],
  ['a result that is no object', result(7), 'legacy'],
  ['an unknown method', error(-32_601), 'legacy'],
  ['wrong parameters, as the Python SDK of the 2025 era has it', error(-32_602), 'legacy'],
  ['a wrong header', error(-32_020), 'modern'],
  ['a missing capability', error(-32_021), 'modern'],
  ['another revision of the newer era', error(-32_022, { supported: ['2027-01-01'] }), 'modern'],
  ['revisions of both eras', error(-32_022, { supported: ['2025-11-25', '2026-07-28'] }), 'modern'],
  ['revisions of the older era alone', error(-32_022, { supported: ['2025-11-25'] }), 'legacy'],
  ['no revisions', error(-32_022, { supported: 'none' }), 'modern'],
  ['an error of the server', error(-32_000), 'legacy'],
])('the response to server/discover shows the revision: %s', (_what, answer, era) => {
  expect(eraByDiscoverAnswer(answer)).toBe(era)
  expect(eraByModernAnswer(answer, 'server/discover')).toBe(era)
})

it.each<[what: string, answer: WireMessage, era: string | undefined]>([
  ['a result of the newer era', result({ resultType: 'complete' }), 'modern'],
  ['a result that either may give', result({ tools: [] }), undefined],
  ['an error of the newer era', error(-32_021), 'modern'],
  ['an error that either may give, with 200', error(-32_602), undefined],
  ['the same with 400', error(-32_602, undefined, 400), 'modern'],
  ['an unknown method with 404', error(-32_601, undefined, 404), 'modern'],
  ['an unknown method with 200', error(-32_601), undefined],
  ['the revisions of the older era', error(-32_022, { supported: ['2025-06-18'] }), 'legacy'],
])('the response to another request shows the revision, or nothing: %s', (_what, answer, era) => {
  expect(eraByModernAnswer(answer, 'tools/list')).toBe(era)
})

it('a call answered by a 200 without JSON-RPC may have been executed, and tells nothing of the revision', () => {
  expect(eraByModernFailure(failure('no_mcp', 200), 'tools/call')).toBeUndefined()
  expect(eraByModernFailure(failure('refused', 400), 'tools/call')).toBe('legacy')
  const none = new TransportError('refused', 'x')
  expect(eraByModernFailure(none, 'tools/list')).toBeUndefined()
  expect(eraByModernFailure(none, 'server/discover')).toBe('legacy')
})

it.each<
  [
    what: string,
    answer: WireMessage | undefined,
    code: number | undefined,
    versions: readonly unknown[] | undefined,
  ]
>([
  ['nothing', undefined, undefined, undefined],
  ['a result', result({}), undefined, undefined],
  ['an error that is a text', { ...result({}), text: '{"error":"no"}' }, undefined, undefined],
  ['a code that is a text', { ...result({}), text: '{"error":{"code":"-32022"}}' }, undefined, undefined],
  ['another error', error(-32_601, { supported: ['x'] }), -32_601, undefined],
  ['an error with versions', error(-32_022, { supported: ['x'] }), -32_022, ['x']],
  ['one without', error(-32_022), -32_022, []],
])('errorCode and supportedVersions read %s', (_what, answer, code, versions) => {
  expect([errorCode(answer), supportedVersions(answer)]).toEqual([code, versions])
})
