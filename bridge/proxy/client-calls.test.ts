import { beforeEach, describe, expect, it } from 'vitest'
import { createSignal } from '@drawbridge/shared/async.ts'
import { toWireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { InitializeOrder } from './client-calls.ts'
import type { PendingCall } from './pending-call.ts'

interface Asked {
  answer(): Promise<void>
  cancel(): Promise<void>
}

let order: InitializeOrder
let seen: string[]
beforeEach(() => {
  seen = []
  order = new InitializeOrder()
})

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

function ask(id: number, method: string): Asked {
  const { given: answered, give } = createSignal()
  const abort = new AbortController()
  const call = { answered } as PendingCall
  const context = { era: 'legacy', deliver() {}, signal: abort.signal, call } as const
  void order.send(toWireMessage({ jsonrpc: '2.0', id, method }), context, async () => {
    seen.push(`${method} ${id}`)
  })
  return {
    answer: () => (give(), turn()),
    cancel: () => (give(), abort.abort(), turn()),
  }
}

const tell = (method: string): void =>
  void order.send(toWireMessage({ jsonrpc: '2.0', method }), { era: 'legacy', deliver() {} }, async () => {
    seen.push(method)
  })

describe('messages behind initialize', () => {
  it('messages behind initialize wait for its response, and go in order', async () => {
    const opening = ask(0, 'initialize')
    tell('notifications/initialized')
    ask(1, 'tools/list')
    await turn()
    expect(seen).toEqual(['initialize 0'])
    await opening.answer()
    ask(2, 'tools/call')
    expect(seen.slice(1)).toEqual(['notifications/initialized', 'tools/list 1', 'tools/call 2'])
  })

  it('pings and responses do not wait for initialize', () => {
    ask(0, 'initialize')
    ask(1, 'ping')
    void order.send(
      toWireMessage({ jsonrpc: '2.0', id: 9, result: {} }),
      { era: 'legacy', deliver() {} },
      async () => {
        seen.push('response')
      },
    )
    expect(seen).toEqual(['initialize 0', 'ping 1', 'response'])
  })

  it('a message cancelled behind initialize is never sent', async () => {
    const opening = ask(0, 'initialize')
    await ask(1, 'tools/list').cancel()
    await opening.answer()
    expect(seen).toEqual(['initialize 0'])
  })

  it('a cancelled initialize lets the waiting messages go', async () => {
    const opening = ask(0, 'initialize')
    ask(1, 'tools/list')
    await opening.cancel()
    expect(seen).toEqual(['initialize 0', 'tools/list 1'])
  })

  it('a second initialize waits, and holds the messages behind it', async () => {
    const first = ask(0, 'initialize')
    const second = ask(1, 'initialize')
    ask(2, 'tools/list')
    await first.answer()
    expect(seen).toEqual(['initialize 0', 'initialize 1'])
    await second.answer()
    expect(seen.at(-1)).toBe('tools/list 2')
  })
})

it('nothing waits without initialize', () => {
  ask(1, 'server/discover')
  ask(2, 'tools/list')
  tell('notifications/x')
  expect(seen).toEqual(['server/discover 1', 'tools/list 2', 'notifications/x'])
})
