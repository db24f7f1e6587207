import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Contender, contender, contest } from './contest.ts'
import { atLeast, atMost, compared, figureTable, notMeasured } from './figure.ts'
import { getRequest } from './requests.ts'
import { inTurn, Rounds } from './rounds.ts'

const spread = { value: 2, low: 1, high: 9 }

it.each([
  [atMost(2, 'f', spread), true],
  [atMost(1.99, 'f', spread), false],
  [atLeast(2, 'f', spread), true],
  [atLeast(2.01, 'f', spread), false],
  [atMost(0, 'f', 0), true],
  [atMost(0, 'f', 1), false],
  [atMost(1, 'f', Number.NaN), false],
  [atLeast(1, 'f', Number.NaN), false],
  [notMeasured('f', 'no peer'), false],
])('a figure %j is met: %s', (figure, ok) => {
  expect(figure.ok).toBe(ok)
})

it('compared divides ours by the peer within each round, and lists both', () => {
  const rounds = new Rounds()
  for (const [ours, peer] of [
    [1, 1],
    [30, 10],
    [4, 2],
  ] as const) {
    rounds.add('ours', ours)
    rounds.add('peer', peer)
  }
  const [ratio, mine, other] = compared(rounds, 'time', 'ms', { ours: 'ours', peer: 'peer', bar: 1.9 })
  expect(ratio).toMatchObject({
    name: 'time, ours, times peer',
    value: 2,
    low: 1,
    high: 3,
    ok: false,
    goal: '<=',
  })
  expect(mine).toMatchObject({ name: 'time, ours', value: 4, ok: true, bar: null })
  expect(other).toMatchObject({ name: 'time, peer', value: 2, ratio: 2, ok: true, bar: null })
})

it('the table of figures names a bar that is missed', () => {
  const area = 'a'
  const figures = [
    { ...atMost(1, 'slow', 2, 'x'), area },
    { ...atLeast(1, 'fast', 2, 'x'), area },
  ]
  const [, slow, fast] = figureTable(figures).split('\n')
  expect(slow).toMatch(/slow\s+2 x\s+<= 1 x\s+MISSED$/)
  expect(fast).toMatch(/fast\s+2 x\s+>= 1 x\s+ok$/)
})

it('inTurn measures systems in turn, and leaves out the first round', async () => {
  const order: string[] = []
  const { ms } = await inTurn(2, [{ name: 'a' }, { name: 'b' }], async ({ name }) => {
    order.push(name)
    return { ms: order.length }
  })
  expect(order.join('')).toBe('ababab')
  expect(ms.of('a')).toEqual({ value: 5, low: 3, high: 5 })
  expect(ms.of('b')).toEqual({ value: 6, low: 4, high: 6 })
})

describe('a contest', () => {
  let server: Server
  let status: number
  let requests: number
  let cpu: number
  let contenders: Contender[]
  beforeEach(async () => {
    ;[status, requests, cpu] = [200, 0, 0]
    server = createServer((_request, response) => {
      requests += 1
      response.writeHead(status, { 'content-length': 2 }).end('{}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const request = getRequest(`http://localhost:${port}/`)
    contenders = [contender({ connections: 2 }, 'one', { port, cpuMs: () => (cpu += 5) }, request)]
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  it('a contest counts the requests of its rounds, and the processor time between their ends', async () => {
    const began = performance.now()
    const results = await contest({ rounds: 1, roundMs: 100 }, contenders)
    const seconds = (performance.now() - began) / 1000
    const { value: rate } = results.rate.of('one')
    expect(rate).toBeGreaterThan(0)
    expect(rate * 0.1).toBeLessThanOrEqual(requests)
    expect(requests).toBeLessThan(rate * seconds * 4)
    expect(results.p50.of('one').value).toBeGreaterThan(0)
    // Five milliseconds a round.
    expect(results.cpu.of('one').value).toBeGreaterThanOrEqual(5000 / requests)
  })

  it('a contest ends with the name and the answer of a contender that answers wrongly', async () => {
    status = 500
    await expect(contest({ rounds: 1, roundMs: 50 }, contenders)).rejects.toThrow(/one answered .*500/)
  })

  it('a contest ends where a connection breaks', async () => {
    server.removeAllListeners('request').on('request', ({ socket }) => socket.destroy())
    await expect(contest({ rounds: 1, roundMs: 50 }, contenders)).rejects.toThrow('The connection broke.')
  })
})
