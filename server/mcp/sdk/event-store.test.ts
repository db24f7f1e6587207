import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { createEventStore } from './event-store.ts'

const logged = (text: string): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { text },
})

async function replay(store: ReturnType<typeof createEventStore>, after: string): Promise<unknown[]> {
  const sent: unknown[] = []
  await store.replayEventsAfter(after, {
    async send(id, stored) {
      sent.push([id, (stored as { params?: { text?: string } }).params?.text])
    },
  })
  return sent
}

describe('the event store of a session (MCP 2025-11-25 resumability)', () => {
  it('the event store replays events in order, only those of the same stream', async () => {
    const store = createEventStore({ events: 10, bytes: 10_000 })
    const first = await store.storeEvent('a', logged('1'))
    await store.storeEvent('b', logged('2'))
    const third = await store.storeEvent('a', logged('3'))
    const fourth = await store.storeEvent('a', logged('4'))
    expect(await replay(store, first)).toEqual([
      [third, '3'],
      [fourth, '4'],
    ])
    expect(await replay(store, fourth)).toEqual([])
  })

  it.each<[string, { events: number; bytes: number }]>([
    ['number', { events: 2, bytes: 10_000 }],
    ['bytes', { events: 10, bytes: 2 * JSON.stringify(logged('1')).length }],
  ])(
    'the event store drops the oldest beyond its limit of %s, and replays the rest',
    async (_limit, limits) => {
      const store = createEventStore(limits)
      const first = await store.storeEvent('a', logged('1'))
      for (const text of ['2', '3', '4']) await store.storeEvent('a', logged(text))
      expect((await replay(store, first)).map((sent) => (sent as string[])[1])).toEqual(['3', '4'])
    },
  )

  it('the event store keeps no event over its limits, nor anything before it on its stream', async () => {
    const store = createEventStore({ events: 10, bytes: 2 * JSON.stringify(logged('1')).length })
    const other = await store.storeEvent('b', logged('1'))
    const before = await store.storeEvent('a', logged('2'))
    const large = await store.storeEvent('a', logged('x'.repeat(1000)))
    for (const id of [before, large]) expect(await store.getStreamIdForEventId?.(id)).toBeUndefined()
    expect(await store.getStreamIdForEventId?.(other)).toBe('b')
    const after = await store.storeEvent('a', logged('3'))
    expect(await replay(store, large)).toEqual([[after, '3']])
  })

  it.each(['', '1', '1_b', 'x_a', '1_a_', `1_${'a'.repeat(200)}`, '99999999999999999_a'])(
    'the event store refuses the id %j, which it has not given',
    async (id) => {
      const store = createEventStore({ events: 10, bytes: 10_000 })
      await store.storeEvent('a', logged('1'))
      expect(await store.getStreamIdForEventId?.(id)).toBeUndefined()
      await expect(replay(store, id)).rejects.toThrow('unknown')
    },
  )
})
