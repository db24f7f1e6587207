import { describe, expect, it } from 'vitest'
import { createInFlight } from './in-flight.ts'
import type { CallInFlight } from './in-flight.ts'
import { createLiveness } from './liveness.ts'
import { toWireMessage } from './envelope.ts'

/** Liveness with clocks that a test moves, and pings that it answers. */
function createTimes(config: { watchdogMs?: number; pingMs?: number } = {}) {
  let monotonic = 1000
  let wall = 1_700_000_000_000
  const clock = { nowMs: 0, heardMs: 0 }
  const inFlight = createInFlight(clock)
  const failed: string[] = []
  const pings: { answer(): void; signal: AbortSignal }[] = []
  let drops = 0
  let isTokenThere = true
  const liveness = createLiveness(
    { watchdogMs: 12_000, pingMs: 0, pingWaitMs: 5000, origin: 'https://x.example', ...config },
    {
      inFlight,
      clock,
      monotonicMs: () => monotonic,
      wallMs: () => wall,
      ping: (signal, asked) => {
        if (isTokenThere) asked()
        return new Promise((resolve, reject) => {
          pings.push({ answer: resolve, signal })
          signal.addEventListener('abort', () => reject(new Error('aborted')))
        })
      },
      isConnected: () => true,
      fail(call, error) {
        inFlight.settle(call)
        failed.push(`${String(call.id)}: ${(error as Error).message}`)
      },
      dropConnections: () => (drops += 1),
      note() {},
    },
  )
  return {
    failed,
    pings,
    drops: () => drops,
    withoutToken: () => (isTokenThere = false),
    call(id: string, method = 'tools/call'): CallInFlight {
      const wire = toWireMessage({ jsonrpc: '2.0', id, method })
      return inFlight.open(id, method, 'legacy', wire) as CallInFlight
    },
    hear: (call: CallInFlight) => (call.heardAt = clock.nowMs),
    /** Time passes, a second at a time; of the sleep only the clock on the wall knows. */
    async pass(seconds: number, sleptSeconds = 0): Promise<void> {
      wall += sleptSeconds * 1000
      for (let second = 0; second < seconds; second++) {
        monotonic += 1000
        wall += 1000
        liveness.tick()
        await new Promise((resolve) => void setImmediate(resolve))
      }
    },
  }
}

describe('the watchdog', () => {
  it('asks after 12 s of silence, and gives the call up 5 s later', async () => {
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
      'a: https://x.example has been silent for 12 s, and does not answer a ping',
    ])
    expect(call.abort.signal.aborted).toBe(true)
  })

  it('waits on when the ping is answered, and asks again', async () => {
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

  it('spares a call that was heard of meanwhile, and one that is silent by nature', async () => {
    const times = createTimes()
    const talking = times.call('talking')
    times.call('listening', 'subscriptions/listen')
    times.call('silent')
    await times.pass(12)
    await times.pass(1)
    times.hear(talking)
    await times.pass(5)
    expect(times.failed).toHaveLength(1)
    expect(times.failed[0]).toContain('silent:')
  })

  it('does not blame the server for a token that is late', async () => {
    const times = createTimes()
    times.withoutToken()
    times.call('a')
    await times.pass(60)
    expect(times.pings).toHaveLength(1)
    expect(times.failed).toEqual([])
  })

  it('is off with 0', async () => {
    const times = createTimes({ watchdogMs: 0 })
    times.call('a')
    await times.pass(100)
    expect(times.pings).toHaveLength(0)
  })
})

it('pings an idle connection as often as it is told', async () => {
  const times = createTimes({ pingMs: 30_000 })
  await times.pass(31)
  times.pings[0]?.answer()
  await times.pass(31)
  expect(times.pings).toHaveLength(2)
})

describe('after a sleep', () => {
  it('asks at once, gives up what was asked before, and drops the connections', async () => {
    const times = createTimes()
    times.call('old')
    times.call('listening', 'subscriptions/listen')
    await times.pass(1)
    await times.pass(1, 3600)
    expect(times.pings).toHaveLength(1)
    times.pings[0]?.answer()
    await times.pass(1)
    expect(times.failed).toEqual([
      'old: the computer slept while https://x.example worked, and the connection is gone',
    ])
    expect(times.drops()).toBe(1)
  })

  it('keeps the connections when a call still hears from the server', async () => {
    const times = createTimes()
    const call = times.call('alive')
    await times.pass(1, 3600)
    await times.pass(1)
    times.hear(call)
    times.pings[0]?.answer()
    await times.pass(1)
    expect(times.failed).toEqual([])
    expect(times.drops()).toBe(0)
  })

  it('drops the connections though the ping is not answered', async () => {
    const times = createTimes()
    await times.pass(1, 40)
    await times.pass(5)
    expect(times.pings).toHaveLength(1)
    expect(times.drops()).toBe(1)
  })

  it('is not seen in a clock that was put right by some seconds', async () => {
    const times = createTimes()
    await times.pass(1, 25)
    await times.pass(1, -3600)
    expect(times.pings).toHaveLength(0)
  })
})
