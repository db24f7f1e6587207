import { describe, expect, it } from 'vitest'
import { toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { NetworkError } from '../http/http-client.ts'
import { Liveness } from './liveness.ts'
import type { PendingCall } from './pending-call.ts'

/** Liveness with clocks that a test moves, and pings that it answers. */
function createTimes(config: { watchdogMs?: number; pingMs?: number } = {}) {
  let monotonic = 1000
  let uptime = 5_000_000
  let wall = 1_700_000_000_000
  const calls = new Set<PendingCall>()
  const failed: string[] = []
  const pings: { answer(): void; signal: AbortSignal }[] = []
  const repeated: string[] = []
  const reopened: boolean[] = []
  let drops = 0
  let isTokenThere = true
  const liveness = new Liveness(
    { watchdogMs: 12_000, pingMs: 0, origin: 'https://x.example', ...config },
    {
      calls: {
        calls: () => [...calls],
        fail(call, error) {
          calls.delete(call)
          const { fault, message } = error as NetworkError
          failed.push(`${String(call.id)}, ${fault}: ${message}`)
        },
        repeat(call) {
          if (call.method !== 'tools/list') return false
          repeated.push(String(call.id))
          return calls.delete(call)
        },
      },
      server: {
        ping: (signal, asked) => {
          if (isTokenThere) asked()
          return new Promise<void>((resolve, reject) => {
            pings.push({ answer: resolve, signal })
            signal.addEventListener('abort', () => reject(new Error('aborted')))
          })
        },
        isOpen: () => true,
        reopen: (answered) => void reopened.push(answered),
      },
      clocks: { monotonicMs: () => monotonic, uptimeMs: () => uptime, wallMs: () => wall },
      dropConnections: () => (drops += 1),
      note() {},
    },
  )
  return {
    failed,
    pings,
    drops: () => drops,
    withoutToken: () => (isTokenThere = false),
    call(id: string, method = 'tools/call'): PendingCall {
      const wire = toWireMessage({ jsonrpc: '2.0', id, method })
      const abort = new AbortController()
      const answered = new Promise<void>(() => {})
      const call: PendingCall = {
        id,
        method,
        era: 'legacy',
        wire,
        answered,
        activeAtMs: wall,
        cancel: undefined,
        abort,
      }
      calls.add(call)
      return call
    },
    repeated,
    reopened,
    hear: (call: PendingCall) => void (call.activeAtMs = wall),
    /** The computer sleeps; which clocks go on then is a matter of its system. */
    sleep(seconds: number, system: 'linux' | 'macos' | 'virtual') {
      wall += seconds * 1000
      if (system !== 'virtual') uptime += seconds * 1000
      if (system === 'macos') monotonic += seconds * 1000
    },
    /** Time passes, a second at a time. */
    async pass(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second++) {
        monotonic += 1000
        uptime += 1000
        wall += 1000
        liveness.tick()
        await new Promise((resolve) => void setImmediate(resolve))
      }
    },
    setClock: (seconds: number) => void (wall += seconds * 1000),
  }
}

const gone = 'reset: the computer slept while https://x.example worked, and the connection is gone'

it('the watchdog pings after 12 s of silence, and fails the call 5 s later', async () => {
  const times = createTimes()
  const call = times.call('a')
  await times.pass(11)
  expect(times.pings).toHaveLength(0)
  await times.pass(1)
  expect(times.pings).toHaveLength(1)
  await times.pass(4)
  expect(times.failed).toEqual([])
  await times.pass(1)
  expect(times.failed).toEqual([
    'a, body_timeout: https://x.example has been silent for 12 s, and does not answer a ping',
  ])
  expect(call.abort.signal.aborted).toBe(true)
})

it('the watchdog goes on after an answered ping, and pings again', async () => {
  const times = createTimes()
  times.call('a')
  await times.pass(12)
  times.pings[0]?.answer()
  await times.pass(11)
  expect(times.pings).toHaveLength(1)
  await times.pass(2)
  expect(times.pings).toHaveLength(2)
  expect(times.failed).toEqual([])
})

it('the watchdog spares a call that got a message meanwhile, and a subscription', async () => {
  const times = createTimes()
  const talking = times.call('talking')
  times.call('listening', 'subscriptions/listen')
  times.call('silent')
  await times.pass(12)
  await times.pass(1)
  times.hear(talking)
  await times.pass(5)
  expect(times.failed).toHaveLength(1)
  expect(times.failed[0]).toMatch(/^silent,/)
})

it('the watchdog does not blame the server for a late token', async () => {
  const times = createTimes()
  times.withoutToken()
  times.call('a')
  await times.pass(60)
  expect(times.pings).toHaveLength(1)
  expect(times.failed).toEqual([])
})

it('the watchdog is off with 0', async () => {
  const times = createTimes({ watchdogMs: 0 })
  times.call('a')
  await times.pass(100)
  expect(times.pings).toHaveLength(0)
})

it('an idle connection is pinged at the configured interval', async () => {
  const times = createTimes({ pingMs: 30_000 })
  await times.pass(31)
  times.pings[0]?.answer()
  await times.pass(31)
  expect(times.pings).toHaveLength(2)
})

describe.each(['linux', 'macos'] as const)('a sleep, on %s', (system) => {
  it('the server is pinged at once, old calls fail, and the streams reopen', async () => {
    const times = createTimes()
    times.call('old')
    times.call('listening', 'subscriptions/listen')
    await times.pass(1)
    times.sleep(3600, system)
    await times.pass(1)
    expect(times.pings).toHaveLength(1)
    expect(times.reopened).toEqual([])
    times.pings[0]?.answer()
    await times.pass(1)
    expect(times.failed).toEqual([`old, ${gone}`, `listening, ${gone}`])
    expect(times.reopened).toEqual([true])
    expect(times.drops()).toBe(0)
  })

  it('old calls that may be repeated are sent again', async () => {
    const times = createTimes()
    times.call('list', 'tools/list')
    await times.pass(1)
    times.sleep(40, system)
    await times.pass(1)
    times.pings[0]?.answer()
    await times.pass(1)
    expect(times.repeated).toEqual(['list'])
    expect(times.failed).toEqual([])
  })

  it('a call sent before the timer has noticed the sleep keeps its full time', async () => {
    const times = createTimes()
    const old = times.call('old')
    await times.pass(1)
    times.sleep(3600, system)
    times.call('young')
    await times.pass(1)
    times.pings[0]?.answer()
    await times.pass(1)
    expect(times.failed).toEqual([`old, ${gone}`])
    expect(old.abort.signal.aborted).toBe(true)
    await times.pass(9)
    expect(times.pings).toHaveLength(1)
    await times.pass(1)
    expect(times.pings).toHaveLength(2)
    expect(times.failed).toHaveLength(1)
  })

  it('an old call that got a message before the timer has noticed the sleep is spared', async () => {
    const times = createTimes()
    const call = times.call('talking')
    await times.pass(1)
    times.sleep(3600, system)
    times.hear(call)
    await times.pass(1)
    times.pings[0]?.answer()
    await times.pass(2)
    expect(times.failed).toEqual([])
  })

  it('a ping that was under way is dropped', async () => {
    const times = createTimes()
    times.call('old')
    await times.pass(12)
    times.sleep(3600, system)
    await times.pass(1)
    expect(times.pings.map(({ signal }) => signal.aborted)).toEqual([true, false])
    expect(times.failed).toEqual([])
    times.pings[1]?.answer()
    await times.pass(1)
    expect(times.failed).toEqual([`old, ${gone}`])
  })

  it('connections are dropped after an unanswered ping, unless a call uses them again', async () => {
    for (const isUsed of [false, true]) {
      const times = createTimes()
      times.call('old')
      await times.pass(1)
      times.sleep(40, system)
      await times.pass(1)
      if (isUsed) times.hear(times.call('young'))
      await times.pass(5)
      expect(times.pings).toHaveLength(1)
      expect(times.failed).toEqual([`old, ${gone}`])
      expect(times.reopened).toEqual([false])
      expect(times.drops()).toBe(isUsed ? 0 : 1)
    }
  })
})

describe('a clock on the wall', () => {
  it.each([40, 3600, 31_536_000])('a wall clock set ahead by %d s costs no call', async (seconds) => {
    const times = createTimes()
    times.call('old')
    await times.pass(1)
    times.setClock(seconds)
    times.hear(times.call('young'))
    await times.pass(1)
    times.pings[0]?.answer()
    await times.pass(5)
    expect(times.failed).toEqual([])
    expect(times.drops()).toBe(0)
  })

  it('a wall clock that alone goes ahead, as in a VM, leads to a ping and reopens the streams', async () => {
    const times = createTimes()
    await times.pass(1)
    times.sleep(3600, 'virtual')
    await times.pass(1)
    expect(times.pings).toHaveLength(1)
    times.pings[0]?.answer()
    await times.pass(1)
    expect(times.reopened).toEqual([true])
  })

  it('a wall clock set back, or corrected by seconds, does not count as a sleep', async () => {
    const times = createTimes()
    await times.pass(1)
    times.setClock(25)
    await times.pass(1)
    times.setClock(-3600)
    await times.pass(1)
    expect(times.pings).toHaveLength(0)
  })
})
