import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { StatelessTransport } from './stateless-transport.ts'
import type { Transport } from './transport.ts'
import { freePort } from '../../tests/support/server/free-port.ts'
import type { Received } from '../../tests/support/remote/received.ts'
import { startServer } from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../tests/support/remote/remote.ts'
import {
  createHarness,
  exchange,
  forTest,
  type TransportHarness,
} from '../../tests/support/bridge/proxy/transport-harness.ts'
import { until } from '../../tests/support/until.ts'

let peer: Remote
let harness: TransportHarness
let transport: Transport
let answer: (request: Received) => void

beforeEach(async () => {
  answer = accept
  peer = await startServer({ handle: (request) => (answer(request), true) })
  harness = createHarness()
  transport = createTransport(peer.origin, 1500)
})

function createTransport(origin: string, retryMs: number): Transport {
  const config = { serverUrl: `${origin}/mcp`, headers: {}, retryMs }
  return forTest(new StatelessTransport(config, harness.ports))
}

const accept = (request: Received): void => request.answer({ result: {} })
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } } as const
const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' } as const
const tokens = (): (string | undefined)[] => peer.received.map(({ headers }) => headers.authorization)

/** Accepts only this token. */
function want(token: string, status = 401, challenge = 'Bearer error="invalid_token"'): void {
  answer = (request) => {
    if (request.headers.authorization === `Bearer ${token}`) return accept(request)
    request.json(status, {}, { 'WWW-Authenticate': challenge })
  }
}

describe('a request that is refused', () => {
  it('a refused request is sent again, once, with the new token', async () => {
    want('new', 401, 'Bearer resource_metadata="https://a/b", scope="mcp"')
    harness.token = 'old'
    harness.onRefusal = () => ((harness.token = 'new'), 'retry')
    expect(await exchange(transport, call)).toHaveLength(1)
    expect(tokens()).toEqual(['Bearer old', 'Bearer new'])
    expect(harness.refusals).toMatchObject([{ status: 401, used: 'Bearer old' }])
    expect(harness.refusals[0]?.challenges[0]?.params.get('scope')).toBe('mcp')
  })

  it('a refused request is not sent again with the same token', async () => {
    want('never')
    harness.token = 'old'
    harness.onRefusal = () => 'retry'
    await expect(exchange(transport, call)).rejects.toMatchObject({ fault: 'sign_in_needed', status: 401 })
    expect(tokens()).toEqual(['Bearer old', 'Bearer old'])
  })

  it('a refused request is sent with new tokens three times at most', async () => {
    want('never')
    let count = 0
    harness.onRefusal = () => ((harness.token = `t${(count += 1)}`), 'retry')
    await expect(exchange(transport, call)).rejects.toMatchObject({ fault: 'sign_in_needed' })
    expect(tokens()).toEqual([undefined, 'Bearer t1', 'Bearer t2', 'Bearer t3'])
  })

  it('a refused request fails when a sign-in is needed', async () => {
    want('never')
    await expect(exchange(transport, call)).rejects.toMatchObject({ fault: 'sign_in_needed', status: 401 })
    expect(peer.received).toHaveLength(1)
  })

  it('a 403 asks for more scope if it names one, and is forbidden otherwise', async () => {
    want('more', 403, 'Bearer error="insufficient_scope", scope="a b"')
    harness.onRefusal = () => ((harness.token = 'more'), 'retry')
    expect(await exchange(transport, call)).toHaveLength(1)
    expect(harness.refusals[0]?.status).toBe(403)
    want('none', 403, 'Bearer error="other"')
    await expect(exchange(transport, call)).rejects.toMatchObject({ fault: 'forbidden', status: 403 })
    expect(harness.refusals).toHaveLength(1)
  })

  it('a request has one Authorization header: the configured one only without a token', async () => {
    const serverUrl = `${peer.origin}/mcp`
    const headers = { authorization: 'Basic x' }
    transport = new StatelessTransport({ serverUrl, headers, retryMs: 0 }, harness.ports)
    await exchange(transport, call)
    harness.token = 't'
    await exchange(transport, call)
    const sent = peer.received.map(({ incoming: { headersDistinct } }) => headersDistinct['authorization'])
    expect(sent).toEqual([['Basic x'], ['Bearer t']])
  })
})

describe('a server that is busy', () => {
  it('a busy server is asked again after the time it names, if that is short', async () => {
    let count = 0
    answer = (request) =>
      (count += 1) === 1 ? request.json(429, {}, { 'Retry-After': '1' }) : accept(request)
    expect(await exchange(transport, call)).toHaveLength(1)
    expect(peer.received[1]?.at).toBeGreaterThan((peer.received[0]?.at ?? 0) + 950)
  })

  it.each([502, 503, 504])(
    'a server that is down with %d is asked again after the time it names',
    async (status) => {
      let count = 0
      answer = (request) =>
        (count += 1) === 1 ? request.json(status, {}, { 'Retry-After': '1' }) : accept(request)
      expect(await exchange(transport, list)).toHaveLength(1)
      expect(peer.received[1]?.at).toBeGreaterThan((peer.received[0]?.at ?? 0) + 950)
      answer = (request) => request.json(status, {}, { 'Retry-After': '9' })
      await expect(exchange(transport, list)).rejects.toMatchObject({
        fault: 'unavailable',
        retryAfterSeconds: 9,
      })
      expect(peer.received).toHaveLength(3)
    },
  )

  it('a busy server is not asked again if it names a longer time', async () => {
    answer = (request) => request.json(429, {}, { 'Retry-After': '9' })
    await expect(exchange(transport, list)).rejects.toMatchObject({
      fault: 'rate_limited',
      retryAfterSeconds: 9,
      status: 429,
    })
    expect(peer.received).toHaveLength(1)
  })

  it.each([502, 503, 504])('a read is sent again after %s', async (status) => {
    let count = 0
    answer = (request) => ((count += 1) < 3 ? request.json(status, {}) : accept(request))
    expect(await exchange(transport, list)).toHaveLength(1)
    count = 0
    await expect(exchange(transport, call)).rejects.toMatchObject({ fault: 'unavailable', status })
    expect(peer.received).toHaveLength(4)
  })

  it('a busy server is given up in the end', async () => {
    // Time passes in the waits alone, so that a busy computer has as many.
    let nowMs = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
    onTestFinished(() => clock.mockRestore())
    harness.ports.runtime.sleep = async (ms) => void (nowMs += ms)
    transport = createTransport(peer.origin, 500)
    answer = (request) => request.json(503, {})
    await expect(exchange(transport, list)).rejects.toMatchObject({ fault: 'unavailable' })
    // After at most 100 ms and 200 ms; the third wait is at least 300 ms, which is too late.
    expect(peer.received).toHaveLength(3)
  })
})

describe('a server that is away', () => {
  /** It has answered, and refuses now. */
  async function leave(retryMs: number): Promise<void> {
    transport = createTransport(peer.origin, retryMs)
    await exchange(transport, list)
    await peer.stop()
  }

  it('an unreachable server is tried until it is back, for calls too', async () => {
    await leave(20_000)
    const sending = exchange(transport, call)
    await until(() => harness.sleeps.length > 2)
    await peer.start()
    expect(await sending).toHaveLength(1)
    expect(peer.received).toHaveLength(2)
  })

  it('a server that was never reached is not tried again', async () => {
    transport = createTransport(`http://127.0.0.1:${await freePort()}`, 1000)
    await expect(exchange(transport, list)).rejects.toMatchObject({ fault: 'refused' })
    expect(harness.sleeps).toEqual([])
  })

  it('the error of an unreachable server names it', async () => {
    await leave(300)
    await expect(exchange(transport, call)).rejects.toMatchObject({
      name: 'NetworkError',
      fault: 'refused',
      sent: false,
    })
    expect(harness.sleeps.length).toBeGreaterThan(0)
  })

  it('an unreachable server is not tried once the client has cancelled', async () => {
    await leave(60_000)
    const giveUp = new AbortController()
    const sending = exchange(transport, call, { signal: giveUp.signal })
    await until(() => harness.sleeps.length > 0)
    giveUp.abort()
    await expect(sending).rejects.toMatchObject({ fault: 'aborted' })
  })

  it('a connection lost after the request repeats a read, never a call', async () => {
    let count = 0
    answer = (request) => ((count += 1) % 2 === 1 ? void request.response.destroy() : accept(request))
    expect(await exchange(transport, list)).toHaveLength(1)
    await expect(exchange(transport, call)).rejects.toMatchObject({
      name: 'NetworkError',
      fault: 'reset',
      sent: true,
    })
    expect(peer.received).toHaveLength(3)
  })
})
