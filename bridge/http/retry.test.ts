import { describe, expect, it } from 'vitest'
import type { Envelope } from '@drawbridge/shared/mcp/json-rpc.ts'
import { NetworkError, type NetworkFault } from './http-client.ts'
import { endingOf, mayRepeat, type Retries, retriesOf, type Ending, type Sendable } from './retry.ts'

const request = (method: string): Envelope => ({ kind: 'request', id: 1, method })
const sendables = {
  call: request('tools/call'),
  unknown: request('vendor/delete-all'),
  list: request('tools/list'),
  initialize: request('initialize'),
  listen: request('subscriptions/listen'),
  notice: { kind: 'notification', method: 'notifications/initialized' },
  response: { kind: 'response', id: 1, isError: false },
  batch: { kind: 'batch' },
  GET: { kind: 'http', method: 'GET' },
  DELETE: { kind: 'http', method: 'DELETE' },
  POST: { kind: 'http', method: 'POST' },
} satisfies Record<string, Sendable>

const all = Object.keys(sendables)
const reads = ['list', 'initialize', 'listen', 'notice', 'GET', 'DELETE']

/** The requests that are sent again after each ending, and how often. */
const table: Record<Ending, { again: readonly string[]; times: number }> = {
  unsent: { again: all, times: Infinity },
  never_there: { again: [], times: 0 },
  broken: { again: reads, times: Infinity },
  cut_off: { again: ['list', 'initialize', 'notice', 'GET', 'DELETE'], times: 3 },
  slept: { again: ['list', 'notice', 'GET', 'DELETE'], times: Infinity },
  unavailable: { again: reads, times: Infinity },
  rate_limited: { again: all, times: Infinity },
  token_refused: { again: all, times: 3 },
  sign_in_needed: { again: all, times: 2 },
  session_lost: { again: all, times: 1 },
  header_refused: { again: all, times: 1 },
  other_transport: { again: all, times: 1 },
  other_revision: { again: all, times: 1 },
}
const endings = Object.entries(table) as [Ending, (typeof table)[Ending]][]

describe('the policy of sending again', () => {
  it.each(endings)('after "%s" only the requests that may be are sent again', (ending, { again }) => {
    expect(all.filter((name) => mayRepeat(ending, sendables[name as keyof typeof sendables]))).toEqual(
      all.filter((name) => again.includes(name)),
    )
  })

  it.each(endings)('after "%s" sending again ends after the allowed times', (ending, { again, times }) => {
    const what = sendables[(again[0] ?? 'call') as keyof typeof sendables]
    expect(mayRepeat(ending, what, times)).toBe(false)
    if (times > 0) expect(mayRepeat(ending, what, Math.min(times, 1e9) - 1)).toBe(true)
  })
})

it.each<[NetworkFault, boolean, ReturnType<typeof endingOf>]>([
  ['reset', true, 'broken'],
  ['reset', false, 'unsent'],
  ['refused', false, 'unsent'],
  ['headers_timeout', true, 'broken'],
  ['tls', false, undefined],
  ['protocol', true, undefined],
  ['aborted', false, undefined],
])('a request that ended with %s, sent %s, is %s', (fault, sent, ending) => {
  expect(endingOf(new NetworkError(fault, 'https://a', 'x', { sent }))).toBe(ending)
})

it.each<[nextStep: string | undefined, ReturnType<typeof endingOf>]>([
  ['Write the password into its address.', undefined],
  [undefined, 'unsent'],
])('a request that a proxy refused, with the next step %j, is %s', (nextStep, ending) => {
  expect(endingOf(new NetworkError('proxy', 'https://a', 'x', { sent: false, nextStep }))).toBe(ending)
})

describe('retries', () => {
  const slept: number[] = []
  const ports = {
    runtime: {
      randomBytes: () => new Uint8Array(1),
      sleep: async (ms: number) => void slept.push(ms),
    },
    note: () => {},
  }
  const retries = (what: Sendable, retryMs: number, signal?: AbortSignal): Retries =>
    retriesOf(what, { retryMs, signal }, ports)

  it('retries wait longer each time, or as long as the server asks', async () => {
    slept.length = 0
    const some = retries(sendables.call, 5000)
    expect([await some.after('unsent', 'x'), await some.after('unsent', 'x')]).toEqual([true, true])
    expect(await some.after('rate_limited', 'x', 3000)).toBe(true)
    expect(slept).toEqual([100, 200, 3000])
  })

  it('retries are not made after the time limit, with 0, or after an abort', async () => {
    expect(await retries(sendables.call, 2000).after('rate_limited', 'x', 3000)).toBe(false)
    expect(await retries(sendables.list, 0).after('cut_off', 'x')).toBe(false)
    expect(await retries(sendables.list, 2000, AbortSignal.abort()).after('broken', 'x')).toBe(false)
  })
})
