import type { Socket } from 'node:net'
import { beforeEach, expect, it } from 'vitest'
import { createAddressChain } from './client-address.ts'
import type { RawRequest, RequestGate } from './guarded-server.ts'
import { createLoadShedding } from './load-shedding.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'

let runtime: FakeRuntime
let gate: RequestGate
let reported: [string, unknown][]

function openGate(trustedProxies: readonly string[] = [], onlyByProxy = false): void {
  runtime = createFakeRuntime(start)
  reported = []
  gate = createLoadShedding({
    addressOf: createAddressChain(trustedProxies, { onlyByProxy }),
    runtime,
    report: (event, fields) => void reported.push([event, fields]),
    tokenPaths: ['/oauth/token', '/token'],
    healthPaths: ['/healthz', '/readyz'],
    isKnownBrowser: (cookieHeader) => cookieHeader === 'known',
    provingPaths: ['/mcp', '/oauth/token', '/token'],
  })
}
beforeEach(() => openGate())

interface Asked {
  address?: string
  authorization?: string
  cookie?: string
  forwardedFor?: string
  path?: string
  method?: string
}

const asked = ({
  address = '203.0.113.1',
  authorization,
  cookie,
  forwardedFor,
  path = '/mcp',
  method = 'POST',
}: Asked): RawRequest => ({
  method,
  url: path,
  headers: {
    ...(authorization !== undefined && { authorization }),
    ...(cookie !== undefined && { cookie }),
    ...(forwardedFor !== undefined && { 'x-forwarded-for': forwardedFor }),
  },
  socket: { remoteAddress: address } as Socket,
})

/** Sends `times` requests with the response `status` if admitted; returns how many were. */
function send(times: number, given: Asked, status = 401): number {
  let letIn = 0
  for (let index = 0; index < times; index += 1) {
    const request = asked(given)
    if (gate.refuse(request)) continue
    letIn += 1
    gate.answered(request, status)
  }
  return letIn
}

it('load shedding lets 200 refusals of an address happen, then 50 a second', () => {
  expect(send(1000, {})).toBe(200)
  runtime.advance(1)
  expect(send(1000, {})).toBe(50)
  runtime.advance(2)
  expect(send(1000, {})).toBe(100)
})

it('load shedding lets one IPv6 site cause at most half of all refusals', () => {
  // Every /56 of a /48, each below its own limit.
  const letIn = Array.from({ length: 256 }, (_each, index) =>
    send(10, { address: `2001:db8:1:${(index * 256).toString(16)}::1` }),
  )
  expect(letIn.reduce((sum, count) => sum + count)).toBe(1000)
  expect(send(10, { address: '2001:db8:2::1' })).toBe(10)
})

it('load shedding answers 429 with Retry-After that every page may read (RFC 6585 section 4)', () => {
  send(200, {})
  const answer = gate.refuse(asked({}))
  expect(answer?.status).toBe(429)
  const headers = answer?.headers.join('|')
  expect(headers).toContain('Retry-After|1')
  expect(headers).toContain('Access-Control-Allow-Origin|*')
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: 'too_many_requests' })
})

it.each<[status: number, counted: boolean]>([
  [200, false],
  [202, false],
  [303, false],
  [400, true],
  [401, true],
  [404, true],
  [421, true],
  [429, true],
  [500, false],
  [503, false],
])('load shedding counts an answer of %i or not: %s', (status, counted) => {
  expect(send(1000, {}, status)).toBe(counted ? 200 : 1000)
})

it('load shedding refuses the same IPv6 network too, and no other address', () => {
  send(1000, {})
  expect(send(1, { address: '203.0.113.2' })).toBe(1)
  send(1000, { address: '2001:db8::1' })
  expect(send(1, { address: '2001:db8::2' })).toBe(0)
  expect(send(1, { address: '2001:db8:0:1::1' })).toBe(1)
})

it('load shedding serves a credential accepted lately from a flooding address', () => {
  send(1, { authorization: 'Bearer good' }, 200)
  send(1000, {})
  expect(send(1000, { authorization: 'Bearer good' }, 200)).toBe(1000)
  expect(send(1, { authorization: 'Bearer other' }, 200)).toBe(0)
})

it.each<[name: string, given: Asked]>([
  ['a page that looks at no credential', { path: '/.well-known/oauth-authorization-server', method: 'GET' }],
  ['a preflight', { method: 'OPTIONS' }],
  ['the page that the endpoint shows in a browser', { method: 'GET' }],
  ['another path that ends alike', { path: '/x/mcp' }],
])('load shedding does not take %s for a valid credential', (_name, given) => {
  send(1, { ...given, authorization: 'Bearer made up' }, 200)
  send(1000, {})
  expect(send(1, { authorization: 'Bearer made up' }, 200)).toBe(0)
})

it('load shedding limits a flood with a valid credential as well', () => {
  send(1, { authorization: 'Bearer good' }, 200)
  send(1000, {})
  expect(send(1000, { authorization: 'Bearer good' }, 400)).toBe(200)
  expect(send(1000, { authorization: 'Bearer good', address: '203.0.113.2' }, 400)).toBe(200)
})

it('load shedding no longer exempts a credential that was refused since', () => {
  send(1, { authorization: 'Bearer good' }, 200)
  send(1000, {})
  send(1, { authorization: 'Bearer good' }, 401)
  expect(send(1, { authorization: 'Bearer good' }, 200)).toBe(0)
})

it('OAuth 2.1 2.4.1: load shedding counts token requests separately, so that a valid refresh is still judged', () => {
  send(1000, {})
  expect(send(1000, { path: '/oauth/token' }, 200)).toBe(1000)
  expect(send(1000, { path: '/oauth/token' }, 400)).toBe(500)
  runtime.advance(1)
  expect(send(1000, { path: '/oauth/token?x' }, 400)).toBe(250)
  expect(send(1, { path: '/token' }, 400)).toBe(0)
})

/** Like {@link send}, once from each of `count` addresses. */
const sendFromMany = (count: number, given: Asked = {}): number => {
  let letIn = 0
  for (let index = 0; index < count; index += 1)
    letIn += send(1, { ...given, address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}` })
  return letIn
}

it('load shedding answers 503 beyond 1334 refusals, then 667 a second, of all addresses, except to good clients', () => {
  send(1, { authorization: 'Bearer good' }, 200)
  expect(sendFromMany(5000)).toBe(1334)
  expect(gate.refuse(asked({ address: '198.51.100.1' }))?.status).toBe(503)
  expect(send(1, { address: '198.51.100.1', authorization: 'Bearer good' }, 200)).toBe(1)
  expect(send(1, { address: '198.51.100.1', path: '/oauth/token' }, 200)).toBe(1)
  runtime.advance(3)
  expect(sendFromMany(5000)).toBe(1334)
  expect(send(5000, { address: '198.51.100.1' })).toBe(0)
})

it('load shedding reserves a third of the total for browsers that have signed in before', () => {
  expect(sendFromMany(5000)).toBe(1334)
  expect(sendFromMany(5000, { cookie: 'made up' })).toBe(0)
  expect(sendFromMany(5000, { cookie: 'known' })).toBe(2000 - 1334)
  expect(gate.refuse(asked({ address: '198.51.100.1', cookie: 'known' }))?.status).toBe(503)
})

it('load shedding reserves nothing of the total of token requests for browsers', () => {
  expect(sendFromMany(5000, { path: '/oauth/token' })).toBe(2000)
})

it('load shedding counts the client behind a trusted proxy, not the proxy', () => {
  openGate(['10.0.0.1'])
  const from = (forwardedFor: string): Asked => ({ address: '10.0.0.1', forwardedFor })
  expect(send(1000, from('198.51.100.1'))).toBe(200)
  expect(send(1, from('198.51.100.2'))).toBe(1)
  expect(send(1, from('198.51.100.2, 198.51.100.1'))).toBe(0)
})

it('load shedding keeps one client behind an unknown proxy from locking out the others', () => {
  openGate([], true)
  expect(send(1000, { address: '10.0.0.1' })).toBe(1000)
  expect(send(5000, { address: '10.0.0.1' })).toBe(334)
})

it('load shedding is logged at once, then every ten seconds with the count', () => {
  send(300, {})
  expect(reported).toEqual([['requests_shed', { count: 1, address: '203.0.113.1' }]])
  runtime.advance(10)
  send(201, {})
  expect(reported[1]).toEqual(['requests_shed', { count: 100, address: '203.0.113.1' }])
})

it.each(['/healthz', '/readyz', '/readyz?from=balancer'])(
  'load shedding lets probes of %s through',
  (path) => {
    send(5000, {})
    expect(send(1, {})).toBe(0)
    expect(send(10, { path, method: 'GET' }, 503)).toBe(10)
    expect(send(1, { path: '/readyzz', method: 'GET' })).toBe(0)
  },
)
