import { afterEach, describe, expect, it, vi } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import { upstreamSample } from '../../../tests/support/server/mcp/command-fixture.ts'
import type { GreetedProcess } from './process/handshake.ts'
import { ProcessConnection } from './process/process-connection.ts'
import { ProcessSlot, type SlotClient, type SlotTerms, SlotUse } from './process-slot.ts'

it.each<[whose: string, isOwn: boolean, happens: (use: SlotUse) => void, seconds: number]>([
  ['that serves several clients', false, () => {}, 120],
  ['whose client has never come back after initialize', true, () => {}, 5],
  ['whose client does not listen', true, (use) => use.recordMessage(), 30],
  ['whose client listens', true, (use) => use.recordListening(true), 120],
  [
    'whose client has stopped listening',
    true,
    (use) => {
      use.recordListening(true)
      use.recordListening(false)
    },
    5,
  ],
  [
    'whose client has stopped listening and come back',
    true,
    (use) => {
      use.recordListening(false)
      use.recordMessage()
    },
    30,
  ],
])(
  'a process %s may be ended to make room when it has been idle for long enough',
  (_whose, isOwn, happens, seconds) => {
    const runtime = createFakeRuntime()
    const use = new SlotUse(runtime, { isOwn, idleMs: 60_000, onIdle() {} })
    use.begin()
    runtime.advance(200)
    expect(use.isSpare).toBe(false)
    use.over()
    happens(use)
    runtime.advance(seconds - 1)
    expect(use.isSpare).toBe(false)
    runtime.advance(1)
    expect(use.isSpare).toBe(true)
    use.stop()
  },
)

describe('a process becomes idle', () => {
  afterEach(() => vi.useRealTimers())

  it('a process becomes idle once its last call has been over for the idle time', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const runtime = createFakeRuntime()
    const onIdle = vi.fn()
    const use = new SlotUse(runtime, { isOwn: false, idleMs: 1000, onIdle })
    use.begin()
    use.begin()
    expect([use.isIdle, use.idleSeconds]).toEqual([false, 0])
    use.over()
    runtime.advance(7)
    vi.advanceTimersByTime(5000)
    expect([use.isIdle, use.idleSeconds, onIdle.mock.calls.length]).toEqual([false, 0, 0])
    use.over()
    runtime.advance(7)
    expect([use.isIdle, use.idleSeconds]).toEqual([true, 7])
    vi.advanceTimersByTime(999)
    use.begin()
    vi.advanceTimersByTime(5000)
    use.over()
    vi.advanceTimersByTime(999)
    expect(onIdle).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(onIdle).toHaveBeenCalledOnce()
  })
})

describe('a slot', () => {
  /** A process that answers everything, and the requests that it gets. */
  function createProcess(era: GreetedProcess['era'] = 'legacy'): {
    process: GreetedProcess
    asked: string[]
  } {
    const asked: string[] = []
    const connection: ProcessConnection = new ProcessConnection((message: JsonRpcMessage) => {
      if (!('method' in message) || !('id' in message)) return
      const { level, uri } = message.params ?? {}
      asked.push(`${message.method} ${String(level ?? uri)}`)
      connection.receive({ jsonrpc: '2.0', id: message.id, result: {} })
    }, undefined)
    const revision = era === 'legacy' ? '2025-11-25' : '2026-07-28'
    const process = { connection, era, revision, serverInfo: { name: 'of a test', version: '1' } }
    return { asked, process: { ...process, presentation: {}, envelope: {} } }
  }

  const createSlot = (terms: Partial<SlotTerms> = {}): ProcessSlot =>
    new ProcessSlot(
      {
        upstream: upstreamSample(),
        runtime: createFakeRuntime(),
        clientInfo: { name: 'drawbridge', version: '0' },
        guardian: { watch() {}, forget() {}, close() {} },
        report() {},
      },
      {
        userId: 'ada',
        sub: 'ada',
        declared: {},
        serve: async () => {},
        onUnused() {},
        onIdle() {},
        ...terms,
      },
    )
  const session = (close: SlotClient['close']): SlotClient => ({
    kind: 'session',
    send: async () => {},
    log() {},
    close,
  })

  it('the next process in a slot gets the last log level, and the subscriptions that have not ended', async () => {
    const [slot, next] = [createSlot(), createProcess()]
    slot.attach(createProcess().process)
    for (const level of ['info', 'error']) await slot.request('logging/setLevel', { level })
    for (const uri of ['a:1', 'a:2']) await slot.request('resources/subscribe', { uri })
    await slot.request('resources/unsubscribe', { uri: 'a:1' })
    await slot.request('resources/read', { uri: 'a:3' })
    slot.attach(next.process)
    expect(next.asked).toEqual(['logging/setLevel error', 'resources/subscribe a:2'])
  })

  it.each<[what: string, uris: string[], repeated: number]>([
    ['1024', Array.from({ length: 1030 }, (_, index) => `a:${index}`), 1024],
    ['256 Ki characters of', ['a', 'b', 'c'].map((name) => name.repeat(100 * 1024)), 2],
  ])('the next process in a slot gets at most %s subscriptions', async (_what, uris, repeated) => {
    const [slot, next] = [createSlot(), createProcess()]
    slot.attach(createProcess().process)
    for (const uri of uris) await slot.request('resources/subscribe', { uri })
    slot.attach(next.process)
    expect(next.asked).toHaveLength(repeated)
  })

  it('the next process in a slot ends the sessions that began with another revision', () => {
    const slot = createSlot()
    const close = vi.fn<SlotClient['close']>()
    slot.sessions.add(session(close))
    for (const _ of ['first', 'same']) slot.attach(createProcess().process)
    expect(close).not.toHaveBeenCalled()
    slot.attach(createProcess('modern').process)
    expect(close).toHaveBeenCalledOnce()
  })

  it.each<[sessions: number, dropped: number]>([
    [0, 1],
    [1, 0],
  ])('a slot with %i sessions whose process cannot start is dropped %i times', async (sessions, dropped) => {
    const onUnused = vi.fn()
    const slot = createSlot({ onUnused, serve: () => Promise.reject(new Error('no')) })
    if (sessions > 0) slot.sessions.add(session(async () => {}))
    await expect(slot.hold({ id: 'ada' } as unknown as Caller)).rejects.toThrow('no')
    expect(onUnused).toHaveBeenCalledTimes(dropped)
  })

  it('a slot that closes gives pending answers a tenth of a second, then ends all its sessions', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const slot = createSlot()
    const closed = [vi.fn<SlotClient['close']>(), vi.fn<SlotClient['close']>()]
    for (const close of closed) slot.sessions.add(session(close))
    const end = slot.close()
    await vi.advanceTimersByTimeAsync(99)
    for (const close of closed) expect(close).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    await end
    for (const close of closed) expect(close).toHaveBeenCalledOnce()
    vi.useRealTimers()
  })
})
