import { describe, expect, it, vi } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import { upstreamSample } from '../../../tests/support/server/mcp/command-fixture.ts'
import type { GreetedProcess } from './process/handshake.ts'
import { ProcessConnection } from './process/process-connection.ts'
import { ProcessSlot, type SlotClient, type SlotTerms } from './process-slot.ts'

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
        owner: 'ada',
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

  it.each([[null], [[]], ['text']])(
    'a result whose _meta is %j loses that member, and keeps the others',
    async (_meta) => {
      const slot = createSlot()
      const connection: ProcessConnection = new ProcessConnection((message: JsonRpcMessage) => {
        const id = 'id' in message ? message.id : null
        connection.receive({ jsonrpc: '2.0', id, result: { _meta, contents: [] } } as JsonRpcMessage)
      }, undefined)
      slot.attach({ ...createProcess().process, connection })
      expect(await slot.request('resources/read', { uri: 'a:1' })).toEqual({ contents: [] })
    },
  )

  it('the next process in a slot gets subscriptions of at most 256 Ki characters', async () => {
    const [slot, next] = [createSlot(), createProcess()]
    slot.attach(createProcess().process)
    for (const name of ['a', 'b', 'c'])
      await slot.request('resources/subscribe', { uri: name.repeat(100 * 1024) })
    slot.attach(next.process)
    expect(next.asked).toHaveLength(2)
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
