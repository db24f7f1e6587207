import { describe, expect, it } from 'vitest'
import { jsonRpcError, toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { NetworkError } from '../http/http-client.ts'
import { assumedEra, eraByModernFailure, mayBeModern, mayBeSseServer } from './revision-detection.ts'
import { TransportError, type TransportFault } from './transport.ts'

function failure(fault: TransportFault, status: number, code?: number): TransportError {
  const response = code === undefined ? {} : { response: toWireMessage(jsonRpcError(1, code, 'x')) }
  return new TransportError(fault, 'x', { status, ...response })
}

const network = new NetworkError('reset', 'http://x', 'x', { sent: true })

// what failed | era by a failed tools/list in the modern era | a failed initialize is worth the question | worth a GET
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
] as const)('%s', (_, error, byModern, isWorthAsking, isWorthGet) => {
  expect(eraByModernFailure(error, 'tools/list')).toBe(byModern)
  expect(mayBeModern(error)).toBe(isWorthAsking)
  expect(mayBeSseServer(error)).toBe(isWorthGet)
})

it('takes an unknown server/discover for the 2025 era', () => {
  expect(eraByModernFailure(failure('refused', 404, -32_601), 'server/discover')).toBe('legacy')
})

describe('the assumed era', () => {
  const modern = { era: 'modern', transport: 'http', at: 1000 } as const
  const legacy = { era: 'legacy', transport: 'http', at: 1000 } as const
  it.each([
    ['legacy', 'auto', undefined, 'legacy'],
    ['modern', 'auto', undefined, 'modern'],
    ['legacy', 'modern', undefined, 'modern'],
    ['modern', 'legacy', modern, 'legacy'],
    ['legacy', 'auto', modern, 'modern'],
    ['legacy', 'auto', legacy, 'legacy'],
    ['modern', 'auto', legacy, 'modern'],
    ['modern', 'auto', { ...legacy, lacks: { era: 'modern', at: 1000 } }, 'legacy'],
    ['modern', 'auto', { ...legacy, lacks: { era: 'modern', at: -100_000 } }, 'modern'],
  ] as const)('of a %s client, %s, memory %j is %s', (local, pin, memory, era) => {
    expect(assumedEra(local, pin, memory, 1100)).toBe(era)
  })
})
