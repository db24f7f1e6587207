import { beforeEach, describe, expect, it } from 'vitest'
import { toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import { type PendingRequest, createPendingRequests, type PendingRequests } from './pending-requests.ts'
import { createInitializeQueue, type InitializeQueue } from './initialize-queue.ts'

let pendingRequests: PendingRequests
let queue: InitializeQueue
let seen: string[]
beforeEach(() => {
  seen = []
  pendingRequests = createPendingRequests({ nowMs: 0 })
  queue = createInitializeQueue(
    {
      request: ({ method, id }) => void seen.push(`${method} ${id}`),
      pass: ({ envelope }) => void seen.push('method' in envelope ? envelope.method : 'response'),
      cancel: ({ id }) => void seen.push(`cancel ${id}`),
    },
    pendingRequests,
  )
})

function ask(id: number, method: string): PendingRequest {
  const call = pendingRequests.open(id, method, 'legacy', toWireMessage({ jsonrpc: '2.0', id, method }))
  if (call === undefined) throw new Error('The id is taken.')
  queue.request(call)
  return call
}

function answer(call: PendingRequest): void {
  pendingRequests.settle(call)
  queue.answered(call)
}

const tell = (method: string): void => queue.pass(toWireMessage({ jsonrpc: '2.0', method }), 'legacy')

describe('behind initialize', () => {
  it('everything waits for its answer, and goes in order', () => {
    const opening = ask(0, 'initialize')
    tell('notifications/initialized')
    ask(1, 'tools/list')
    expect(seen).toEqual(['initialize 0'])
    answer(opening)
    ask(2, 'tools/call')
    expect(seen.slice(1)).toEqual(['notifications/initialized', 'tools/list 1', 'tools/call 2'])
  })

  it('pings and answers do not wait', () => {
    ask(0, 'initialize')
    ask(1, 'ping')
    queue.pass(toWireMessage({ jsonrpc: '2.0', id: 9, result: {} }), 'legacy')
    expect(seen).toEqual(['initialize 0', 'ping 1', 'response'])
  })

  it('what was cancelled meanwhile is never sent', () => {
    const opening = ask(0, 'initialize')
    const call = ask(1, 'tools/list')
    pendingRequests.settle(call)
    queue.cancel(call, call.wire)
    answer(opening)
    expect(seen).toEqual(['initialize 0', 'cancel 1'])
  })

  it('nothing waits for ever when it is cancelled itself', () => {
    const opening = ask(0, 'initialize')
    ask(1, 'tools/list')
    pendingRequests.settle(opening)
    queue.cancel(opening, opening.wire)
    expect(seen).toEqual(['initialize 0', 'cancel 0', 'tools/list 1'])
  })

  it('another one waits too, and has its own behind it', () => {
    const first = ask(0, 'initialize')
    const second = ask(1, 'initialize')
    ask(2, 'tools/list')
    answer(first)
    expect(seen).toEqual(['initialize 0', 'initialize 1'])
    answer(second)
    expect(seen.at(-1)).toBe('tools/list 2')
  })
})

it('without initialize nothing waits', () => {
  ask(1, 'server/discover')
  ask(2, 'tools/list')
  tell('notifications/x')
  expect(seen).toEqual(['server/discover 1', 'tools/list 2', 'notifications/x'])
})
